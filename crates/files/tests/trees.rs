//! The host's way into files of sessions and stores, beside what the kernel shows of the same views.
#![forbid(unsafe_code)]
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it, and uses a part of what it shares with others"
)]

#[path = "../../cli/tests/review/overlay.rs"]
mod overlay;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use files::{Address, Copied, Existing, FilesError, Links, Local, Purpose, Tree, Wishes, copy};
use plan::HostPath;
use session::{SessionError, SessionId, Sessions};

/// A state directory, and a project with a session on it.
struct Place {
    root: tempfile::TempDir,
    project: PathBuf,
    state: PathBuf,
    area: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(root.path()).unwrap();
        let (project, state) = (real.join("project"), real.join("state"));
        for directory in ["old/inner", "gone", "kept"] {
            fs::create_dir_all(project.join(directory)).unwrap();
        }
        for name in ["a", "b", "old/x", "old/inner/y", "gone/z", "kept/k"] {
            fs::write(project.join(name), format!("host {name}\n")).unwrap();
        }
        let area = overlay::begin(&state, "work", &project);
        Self { root, project, state, area }
    }

    /// Runs a shell in the view, as the kernel shows it.
    fn cage(&self, script: &str) {
        overlay::cage(self.root.path(), &self.project, &self.area, script);
    }

    fn state(&self) -> HostPath {
        HostPath::new(self.state.clone().into_os_string()).unwrap()
    }

    fn open(&self, purpose: Purpose) -> Tree {
        let sessions = Sessions::open(&self.state()).unwrap();
        Tree::of_session(&sessions, &SessionId::parse("work").unwrap(), purpose).unwrap()
    }

    fn path(&self, name: &str) -> Vec<u8> {
        self.project.join(name).into_os_string().into_encoded_bytes()
    }

    /// Everything in the view with what is in it, as we see it.
    fn ours(&self) -> Vec<String> {
        let tree = self.open(Purpose::Read);
        let entries = tree.list(b"", usize::MAX).unwrap();
        let mut all: Vec<String> = entries
            .iter()
            .map(|entry| {
                let contents = match entry.kind {
                    "file" => tree.read(entry.name.as_bytes(), 0, 1000).unwrap(),
                    "link" => entry.target.clone().unwrap().as_bytes().to_vec(),
                    _ => Vec::new(),
                };
                let contents = String::from_utf8(contents).unwrap().trim().to_owned();
                format!("{} {} {contents}", entry.kind, entry.name)
            })
            .collect();
        all.sort();
        all
    }

    /// The same as the kernel sees it.
    fn kernels(&self) -> Vec<String> {
        let out = self.root.path().join("listed");
        self.cage(&format!(
            "find . -mindepth 1 | while read -r f; do n=${{f#./}}; if test -L \"$f\"; then echo \"link $n $(readlink \"$f\")\"; \
             elif test -d \"$f\"; then echo \"directory $n \"; else echo \"file $n $(cat \"$f\")\"; fi; done > {}",
            out.display()
        ));
        let text = fs::read_to_string(out).unwrap();
        let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
        all.sort();
        all
    }
}

fn whole() -> Wishes {
    Wishes { recursive: true, existing: Existing::Kept, links: Links::Refused }
}

fn wrote(tree: &Tree, path: &[u8], text: &str, existing: Existing) -> Result<u64, FilesError> {
    tree.write_from(path, &mut text.as_bytes(), existing)
}

/// A9, A19: what programs removed, replaced, made anew and renamed is seen as the kernel shows it, and what the host's side
/// changes is seen by the next program.
#[test]
fn a_view_is_what_the_kernel_shows() {
    if !testing::has("unshare") {
        return;
    }
    let place = Place::new();
    place.cage(
        "echo cage > a; rm b; rm -r old; mkdir old; echo new > old/n; rm -r gone; mv kept/k kept/moved; \
         ln -s ../a kept/l; mkdir deep; echo d > deep/d; chmod 600 a",
    );
    assert_eq!(place.ours(), place.kernels());
    assert!(place.ours().contains(&"file old/n new".to_owned()));
    assert!(!place.ours().iter().any(|line| line.starts_with("file b") || line.contains("gone")));
    let tree = place.open(Purpose::Write);
    assert_eq!(tree.stat(b"a").unwrap().mode, 0o600);
    // A name that was removed, a file and a directory in the place of what was.
    wrote(&tree, b"b", "again", Existing::Kept).unwrap();
    tree.make_directory(b"gone", false).unwrap();
    wrote(&tree, b"gone/new", "n", Existing::Kept).unwrap();
    // What only the host has.
    wrote(&tree, b"a", "over", Existing::Overwritten).unwrap();
    tree.remove(b"deep", true).unwrap();
    tree.remove(b"old", true).unwrap();
    tree.remove(b"kept/moved", false).unwrap();
    tree.make_directory(b"old/inner/more", true).unwrap();
    drop(tree);
    assert_eq!(place.ours(), place.kernels());
    let tree = place.open(Purpose::Write);
    tree.remove(b"gone", true).unwrap();
    tree.remove(b"old", true).unwrap();
    wrote(&tree, b"old", "a file now", Existing::Kept).unwrap();
    tree.remove(b"kept", true).unwrap();
    drop(tree);
    assert_eq!(place.ours(), ["file a over", "file b again", "file old a file now"]);
    assert_eq!(place.ours(), place.kernels());
    // The host's own are as they were, and the layer has nothing that nobody knows.
    assert_eq!(fs::read_to_string(place.project.join("a")).unwrap(), "host a\n");
    assert!(place.project.join("kept/k").exists());
    assert_eq!(fs::read_dir(place.area.join("work/staging")).unwrap().count(), 0);
}

/// A9: a view that a cage has mounted is read and not written; its scratch is.
#[test]
fn what_is_in_use_is_not_changed() {
    let place = Place::new();
    let locked = fs::File::open(&place.area).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let tree = place.open(Purpose::Write);
    assert_eq!(tree.read(b"a", 0, 100).unwrap(), b"host a\n");
    for refused in [
        wrote(&tree, b"a", "x", Existing::Overwritten).unwrap_err(),
        wrote(&tree, b"new", "x", Existing::Kept).unwrap_err(),
        tree.remove(b"a", false).unwrap_err(),
        tree.make_directory(b"d", true).unwrap_err(),
    ] {
        assert!(matches!(refused, FilesError::InUse { .. }), "{refused}");
    }
    wrote(&tree, b"/scratch/s", "x", Existing::Kept).unwrap();
    drop(tree);
    drop(locked);
    // One who writes keeps runs off, and one who reads does not.
    let reader = place.open(Purpose::Read);
    let writer = place.open(Purpose::Write);
    wrote(&writer, b"new", "x", Existing::Kept).unwrap();
    let area = fs::File::open(&place.area).unwrap();
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    assert!(rustix::fs::flock(&area, lock).is_err());
    drop(writer);
    rustix::fs::flock(&area, lock).unwrap();
    assert_eq!(reader.read(b"new", 0, 10).unwrap(), b"x");
    let none = SessionId::parse("none").unwrap();
    let sessions = Sessions::open(&place.state()).unwrap();
    let missing = Tree::of_session(&sessions, &none, Purpose::Read).unwrap_err();
    assert!(matches!(missing, FilesError::Session(SessionError::NotFound(_))), "{missing}");
}

/// A9, A10: no link that a program made leads out, for a reader, a writer or a copy; nor does a path.
#[test]
fn no_link_leads_out() {
    let place = Place::new();
    let secret = place.root.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let upper = place.area.join("upper");
    symlink(&secret, upper.join("out")).unwrap();
    symlink("../../../../../../../../etc/passwd", upper.join("up")).unwrap();
    symlink("/scratch", upper.join("inside")).unwrap();
    fs::create_dir(upper.join("d")).unwrap();
    symlink("../out", upper.join("d/chain")).unwrap();
    symlink("x/../../..", upper.join("d/odd")).unwrap();
    let tree = place.open(Purpose::Write);
    for path in ["out", "up", "d/chain", "../../../../../../etc/passwd", "/etc/passwd"] {
        let refused = tree.read(path.as_bytes(), 0, 10).unwrap_err();
        assert!(matches!(refused, FilesError::Missing { .. }), "{path}: {refused}");
        let refused = wrote(&tree, path.as_bytes(), "x", Existing::Overwritten);
        assert!(refused.is_err(), "{path}");
    }
    // To what the session itself has, one leads.
    wrote(&tree, b"inside/s", "x", Existing::Kept).unwrap();
    assert_eq!(tree.read(b"/scratch/s", 0, 10).unwrap(), b"x");
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    let to = Local::destination(&place.root.path().join("copied")).unwrap();
    let refused = copy((&tree, b""), (&to.tree, &to.path), &whole(), &mut |_| {}).unwrap_err();
    assert!(matches!(refused, FilesError::LinkOut { .. }), "{refused}");
    let to = Local::destination(&place.root.path().join("other")).unwrap();
    let wishes = Wishes { links: Links::LeftOut, ..whole() };
    let copied = copy((&tree, b"d"), (&to.tree, &to.path), &wishes, &mut |_| {}).unwrap();
    assert_eq!((copied.left_out, copied.links, copied.directories), (2, 0, 1));
    assert!(!place.root.path().join("other/chain").exists());
    // Not through a link of the host's either.
    symlink(&secret, place.root.path().join("target")).unwrap();
    let to = Local::destination(&place.root.path().join("target")).unwrap();
    let wishes = Wishes { existing: Existing::Overwritten, ..whole() };
    assert!(copy((&tree, b"a"), (&to.tree, &to.path), &wishes, &mut |_| {}).is_err());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
}

/// A9: trees go from the host to a session and a store, and back, with modes and links; what is there stays unless it is
/// to be replaced.
#[test]
fn trees_are_copied_both_ways() {
    let place = Place::new();
    let made = place.root.path().join("made");
    fs::create_dir_all(made.join("sub/deeper")).unwrap();
    fs::write(made.join("sub/tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(made.join("sub/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(made.join("large"), vec![7; 3 << 20]).unwrap();
    symlink("sub/tool", made.join("link")).unwrap();
    symlink("../../large", made.join("sub/deeper/up")).unwrap();
    let store = place.root.path().join("files.db");
    let owner = vfs::Caller::of(1000, 1000);
    store::Store::create(&store, &owner, 0o755).unwrap();
    let address = |text: &str| Address::parse(text.as_ref()).unwrap();
    let in_store = address(&format!("store:{}:/put", store.display()));
    for to in [address("work:/scratch/put"), address("work:put"), in_store] {
        let from = Local::source(&made).unwrap();
        let tree = Tree::open(&to, &place.state(), Purpose::Write).unwrap();
        let without = Wishes { recursive: false, ..whole() };
        let refused = copy((&from.tree, &from.path), (&tree, &to.path), &without, &mut |_| {});
        assert!(matches!(refused, Err(FilesError::Directory { .. })), "{refused:?}");
        let mut heard = Copied::default();
        let copied = copy((&from.tree, &from.path), (&tree, &to.path), &whole(), &mut |now| {
            assert!(now.bytes >= heard.bytes);
            heard = *now;
        });
        let copied = copied.unwrap();
        assert_eq!((copied.files, copied.directories, copied.links), (2, 3, 2));
        assert_eq!((copied.bytes, heard), ((3 << 20) + 10, copied));
        // Into what is there it goes under its own name, and not twice.
        copy((&from.tree, &from.path), (&tree, &to.path), &whole(), &mut |_| {}).unwrap();
        let twice = copy((&from.tree, &from.path), (&tree, &to.path), &whole(), &mut |_| {});
        assert!(matches!(twice, Err(FilesError::Exists { .. })), "{twice:?}");
        let over = Wishes { existing: Existing::Overwritten, ..whole() };
        copy((&from.tree, &from.path), (&tree, &to.path), &over, &mut |_| {}).unwrap();
        let at = |name: &str| [&to.path[..], name.as_bytes()].concat();
        tree.remove(&at("/made"), true).unwrap();
        // A link that is there is not written through, and not replaced by a file.
        let link = (&tree, &at("/link")[..]);
        let other = copy((&from.tree, b"/made/large"), link, &over, &mut |_| {});
        assert!(matches!(other, Err(FilesError::OtherKind { .. })), "{other:?}");
        drop(tree);
        let tree = Tree::open(&to, &place.state(), Purpose::Read).unwrap();
        let back = place.root.path().join("back");
        let local = Local::destination(&back).unwrap();
        copy((&tree, &at("/sub")), (&local.tree, &local.path), &whole(), &mut |_| {}).unwrap_err();
        assert!(!back.exists(), "what is refused leaves nothing");
        let left_out = Wishes { links: Links::LeftOut, ..whole() };
        copy((&tree, &at("/sub")), (&local.tree, &local.path), &left_out, &mut |_| {}).unwrap();
        let mode = fs::metadata(back.join("tool")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        fs::remove_dir_all(&back).unwrap();
    }
}

/// A9: several things at once, each with its own answer.
#[test]
fn a_batch_goes_on_after_a_refusal() {
    use vfs::{Batch, Done};
    let place = Place::new();
    let tree = place.open(Purpose::Write);
    let all = [
        Batch::Write(place.path("new"), b"text".to_vec()),
        Batch::Read(b"new".to_vec()),
        Batch::Read(b"missing".to_vec()),
        Batch::MakeDirectories(b"p/q".to_vec()),
        Batch::List(b"p".to_vec()),
        Batch::Stat(b"p/q".to_vec()),
        Batch::Remove(b"p".to_vec()),
        Batch::Read(b"kept/k".to_vec()),
    ];
    let done = tree.batch(&all, 5);
    assert!(matches!(&done[1], Ok(Done::Contents(text)) if text == b"text"), "{:?}", done[1]);
    assert!(matches!(done[2], Err(FilesError::Missing { .. })));
    assert!(matches!(&done[4], Ok(Done::Names(names)) if names.len() == 1));
    assert!(matches!(done[5], Ok(Done::Attributes(_))) && matches!(done[6], Ok(Done::Nothing)));
    assert!(matches!(done[7], Err(FilesError::TooLarge { .. })), "{:?}", done[7]);
    for stays in ["", "/scratch", "/"] {
        assert!(tree.remove(stays.as_bytes(), true).is_err(), "{stays}");
    }
    assert!(tree.read(&place.path("a"), 0, 9).is_ok());
}
