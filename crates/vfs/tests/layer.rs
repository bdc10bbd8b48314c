//! The kernel's upper layer as ours: random operations on it and on a layer in memory, above the same files, come to the
//! same, also when it is opened anew, and when the kernel shows it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use vfs::{
    At, Caller, Engine, Existing, FileSystem, Follow, Host, HostMode, Kind, Limits, Memory,
    OpenFlags, Overlay, Owner, Replace,
};

fn caller() -> Caller {
    Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&caller(), 0o755, Limits::default()))
}

/// Fills a directory that both views lie above.
fn fill(place: &Path) {
    for directory in NAMES {
        for name in NAMES {
            let deep = place.join(directory).join(name).join("deep");
            std::fs::create_dir_all(&deep).unwrap();
            std::fs::write(deep.join("f"), "below").unwrap();
        }
        std::fs::write(place.join(directory).join("f"), "below").unwrap();
    }
}

fn host(place: &Path, mode: HostMode) -> Host {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place, flags, Mode::empty()).unwrap();
    Host::new(directory, mode, &Limits::default()).unwrap()
}

fn below(place: &Path) -> Vec<Arc<dyn Engine>> {
    vec![Arc::new(host(&place.join("lower"), HostMode::ReadOnly))]
}

/// Above what is below, in memory.
fn in_memory(place: &Path) -> FileSystem {
    let limits = Limits::default();
    let overlay = Overlay::new(below(place), memory(), &limits).unwrap();
    FileSystem::new(Arc::new(overlay), &limits)
}

/// The same in the kernel's form.
fn as_the_kernel(place: &Path) -> FileSystem {
    let limits = Limits::default();
    let upper = Arc::new(host(place, HostMode::WritableAsCaller).with_marks_of_kernel());
    let overlay = Overlay::as_the_kernel(below(place), upper, &limits).unwrap();
    FileSystem::new(Arc::new(overlay), &limits)
}

/// Everything that the kernel shows of the same layers.
fn by_the_kernel(place: &Path) -> Vec<String> {
    let line = r"
        set -e; cd $1
        mount -t overlay overlay -o userxattr,lowerdir=lower,upperdir=upper,workdir=work shown; cd shown
        find . -mindepth 1 \( -type d -printf '/%P \n' \) -o \( -printf '/%P ' -exec cat {} \; -printf '\n' \)";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", line, "sh"]).arg(place);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all: Vec<_> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    all.sort();
    all
}

/// Everything that can be seen, with contents.
fn seen(files: &FileSystem) -> Vec<String> {
    let (mut all, mut left) = (Vec::new(), vec![Vec::new()]);
    while let Some(path) = left.pop() {
        for listed in files.list(&caller(), &[&path[..], b"/"].concat()).unwrap() {
            let path = [&path[..], b"/", &listed.name].concat();
            let contents = match listed.kind {
                Kind::Directory => {
                    left.push(path.clone());
                    String::new()
                }
                _ => String::from_utf8(files.read_file(&caller(), &path, 100).unwrap()).unwrap(),
            };
            all.push(format!("{} {contents}", String::from_utf8_lossy(&path)));
        }
    }
    all.sort();
    all
}

/// One operation, and what came of it.
fn operate(files: &FileSystem, number: u64) -> String {
    let mut left = number;
    let mut next = |most: usize| {
        left = left.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(left >> 33).unwrap() % most
    };
    let what = next(8);
    let mut path = || {
        let depth = next(3) + 1;
        (0..depth)
            .map(|_| format!("/{}", NAMES[next(NAMES.len())]))
            .collect::<String>()
            .into_bytes()
    };
    let (one, other, caller) = (path(), path(), caller());
    let (from, to) = ((At::Root, &one[..]), (At::Root, &other[..]));
    let done = match what {
        0 => files.write_file(&caller, &one, format!("{number}").as_bytes()),
        1 => files.remove_tree(&caller, &one),
        2 | 3 => files.make(&caller, At::Root, &one, vfs::New::Directory, 0o755).map(drop),
        4 => files.rename(&caller, from, to, Replace::Yes),
        5 => files.rename(&caller, from, to, Replace::No),
        6 => files.rename(&caller, from, to, Replace::Exchange),
        _ => files.link(&caller, Existing::Path(&one, Follow::No), At::Root, &other),
    };
    let errno = done.err().map(|error| error.errno);
    format!(
        "{what} {} {} {errno:?}",
        String::from_utf8_lossy(&one),
        String::from_utf8_lossy(&other)
    )
}

/// A4, A19: names that are removed, made anew, renamed, exchanged and linked over what is removed.
#[test]
fn a_layer_of_the_kernels_is_a_layer() {
    if !testing::is_root() || !testing::has("unshare") {
        return testing::skip("only root can mount an overlay, and gives files to others");
    }
    for seed in 0..6_u64 {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        for name in ["lower", "upper", "work", "shown"] {
            std::fs::create_dir(place.join(name)).unwrap();
        }
        fill(&place.join("lower"));
        let (ours, mut kernels) = (in_memory(place), as_the_kernel(place));
        for step in 0..150 {
            let number = seed * 1_000_003 + step;
            assert_eq!(operate(&kernels, number), operate(&ours, number), "{seed} {step}");
            if step % 50 == 49 {
                assert_eq!(seen(&kernels), seen(&ours), "{seed} {step}");
                drop(kernels);
                assert_eq!(by_the_kernel(place), seen(&ours), "{seed} {step}, by the kernel");
                kernels = as_the_kernel(place);
                assert_eq!(seen(&kernels), seen(&ours), "{seed} {step}, anew");
            }
        }
    }
}

/// A19: an exchange of a name that only the upper layer has, or both have, or only the lower one has, with another: what
/// lower layers have under either shows nowhere, and does not come back.
#[test]
fn exchanges_keep_what_they_hide() {
    if !testing::is_root() || !testing::has("unshare") {
        return testing::skip("only root can mount an overlay, and gives files to others");
    }
    let root = Caller::root();
    // A file and a directory of the upper layer, with nothing below; both again, in the place of others; and below.
    let names = ["/new", "/made", "/a/f", "/b", "/c", "/d/f"];
    let pairs = names
        .iter()
        .enumerate()
        .flat_map(|(at, one)| names[at + 1..].iter().map(move |other| (*one, *other)));
    for (one, other) in pairs {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        for name in ["lower", "upper", "work", "shown"] {
            std::fs::create_dir(place.join(name)).unwrap();
        }
        fill(&place.join("lower"));
        let (ours, kernels) = (in_memory(place), as_the_kernel(place));
        for files in [&ours, &kernels] {
            files.write_file(&root, b"/new", b"new").unwrap();
            files.make_directories(&root, b"/made/in").unwrap();
            files.remove_tree(&root, b"/a/f").unwrap();
            files.write_file(&root, b"/a/f", b"another").unwrap();
            files.remove_tree(&root, b"/b").unwrap();
            files.make_directories(&root, b"/b/other").unwrap();
            let (from, to) = ((At::Root, one.as_bytes()), (At::Root, other.as_bytes()));
            files.rename(&root, from, to, Replace::Exchange).unwrap();
        }
        let expected = seen(&ours);
        assert_eq!(seen(&kernels), expected, "{one} {other}");
        // What was exchanged is removed, and hides what it came to lie over.
        drop(kernels);
        assert_eq!(by_the_kernel(place), expected, "{one} {other}, by the kernel");
        let kernels = as_the_kernel(place);
        for files in [&ours, &kernels] {
            files.remove_tree(&root, one.as_bytes()).unwrap();
        }
        drop(kernels);
        assert_eq!(by_the_kernel(place), seen(&ours), "{one} {other}, removed");
    }
}

/// A18, A19: what is made over a hidden name, in a directory that hands its group down, is as it is beside one.
#[test]
fn what_is_made_over_a_hidden_name_is_as_elsewhere() {
    if !testing::is_root() {
        return testing::skip("only root gives files to others");
    }
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(place.join(name)).unwrap();
    }
    fill(&place.join("lower"));
    let (root, member) = (Caller::root(), Caller::of(7, 7));
    for files in [in_memory(place), as_the_kernel(place)] {
        files.remove_tree(&root, b"/a/f").unwrap();
        let owner = Owner { uid: None, gid: Some(1002) };
        files.set_owner(&root, At::Root, b"/a", Follow::No, owner).unwrap();
        files.set_mode(&root, At::Root, b"/a", 0o2777).unwrap();
        for (caller, mode, expected) in [(&root, 0o6700, 0o6700), (&member, 0o2755, 0o755)] {
            for name in [&b"/a/f"[..], b"/a/new"] {
                let flags = OpenFlags { create: true, exclusive: true, ..OpenFlags::WRITE };
                drop(files.open(caller, At::Root, name, flags, mode).unwrap());
                let found = files.stat(&root, At::Root, name, Follow::No).unwrap();
                assert_eq!((found.mode, found.gid), (expected, 1002), "{name:?}");
                files.remove_tree(&root, name).unwrap();
            }
        }
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
