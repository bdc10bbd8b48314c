//! Views with a layer where the kernel cannot make one, because the directory belongs to somebody else: a process of ours
//! shows them, and what programs change is reviewed as it is elsewhere. A19, T12

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use crate::can_mount;
use crate::jails::{field, servers};
use crate::support::{Place, is_root, slowly};

/// A directory of the project that the kernel cannot lay a layer over for whoever runs the test: for root it is another
/// user's, for a user another group's.
fn foreign(place: &Place) -> Option<PathBuf> {
    if !can_mount() {
        return None;
    }
    for (path, content) in [
        ("theirs/text", "one\ntwo\n"),
        ("theirs/gone", "gone\n"),
        ("theirs/old/deep/file", "three\n"),
        ("theirs/old/other", "four\n"),
        ("theirs/private/key", "secret-that-is-hidden\n"),
        ("theirs/fixed/file", "fixed\n"),
    ] {
        place.write(path, content);
    }
    let directory = place.project.join("theirs");
    let own = rustix::process::getegid();
    let groups = rustix::process::getgroups().unwrap();
    let other = groups.into_iter().find(|group| *group != own && !group.is_root());
    let given = match (is_root(), other) {
        (true, _) => chown(&directory, Some(4321), Some(4321)).is_ok(),
        (false, Some(group)) => chown(&directory, None, Some(group.as_raw())).is_ok(),
        (false, None) => false,
    };
    if !given {
        testing::skip(
            "whoever runs the test can give a directory neither to a user nor to a group",
        );
    }
    given.then_some(directory)
}

/// Everything below a directory: kind and mode, content or target.
fn tree(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let status = fs::symlink_metadata(&path).unwrap();
        let content = if status.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if status.is_symlink() {
            fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else {
            fs::read(&path).unwrap()
        };
        found.push((path, status.mode(), content));
    }
    found.sort();
    found
}

/// The layer of the session `work`.
fn upper(place: &Place) -> PathBuf {
    let areas = place.state().join("stockade/sessions/work/areas");
    let mut areas = fs::read_dir(areas).unwrap().map(|entry| entry.unwrap().path());
    let area = areas.find(|path| path.join("upper").exists()).unwrap();
    area.join("upper")
}

const COW: [&str; 4] = ["--cow", "theirs", "--session", "work"];

/// Every kind of change stays above, is reviewed, brought to the host and taken back, by the very code that reviews what
/// the kernel has written; the next run goes on there.
#[test]
fn a_foreign_directory_is_changed_above_and_reviewed() {
    let place = Place::new();
    let Some(directory) = foreign(&place) else { return };
    let before = tree(&directory);
    let line = "
        set -e; cd theirs
        grep -q fuse.stockade /proc/self/mountinfo; test -O text
        echo more >> text; rm gone; rm -r old; mkdir old; echo new > old/new; ln -s text link
        mkdir made; echo x > made/a; mv made/a made/b; chmod 600 made/b; mv fixed moved; cat moved/file
        (umask 222; echo closed > closed); mkdir shut; chmod 555 shut; ln text hard; rm hard
        test \"$(ls | tr '\\n' ' ')\" = 'closed link made moved old private shut text '";
    let ended = place.shell(&[&COW[..], &["--json"]].concat(), line);
    ended.expect_code(0).says("theirs");
    assert_eq!(tree(&directory), before);

    // In the form of the kernel's: names that are gone are devices of number 0, and a directory made anew hides.
    let upper = upper(&place);
    for name in ["gone", "fixed"] {
        let status = fs::symlink_metadata(upper.join(name)).unwrap();
        let kind = FileType::from_raw_mode(status.mode());
        assert_eq!((kind, status.rdev()), (FileType::CharacterDevice, 0), "{name}");
    }
    let mut value = [0; 8];
    let length =
        rustix::fs::getxattr(upper.join("old"), "user.overlay.opaque", &mut value).unwrap();
    assert_eq!(&value[..length], b"y");

    let next = place.shell(&COW, "cat theirs/old/new && test ! -e theirs/gone && ls -A theirs/old");
    next.expect_code(0);
    assert_eq!(next.stdout, "new\nnew\n");

    let diff = place.ask(["diff", "work", "--color", "never"]);
    diff.expect_code(0).prints("+more").prints("-gone").prints("+new").prints("-three");
    if !is_root() {
        // Of another group the user's own files are not.
        return;
    }
    place.ask(["apply", "work"]).expect_code(0);
    let applied = tree(&directory);
    assert_ne!(applied, before);
    assert_eq!(fs::read_to_string(directory.join("text")).unwrap(), "one\ntwo\nmore\n");
    assert_eq!(fs::read_to_string(directory.join("old/new")).unwrap(), "new\n");
    assert!(!directory.join("old/deep").exists() && !directory.join("gone").exists());
    assert_eq!(fs::read_to_string(directory.join("moved/file")).unwrap(), "fixed\n");
    place.ask(["undo", "work"]).expect_code(0);
    assert_eq!(tree(&directory), before);
    place.ask(["discard", "work", "--yes"]).expect_code(0);
    place.shell(&COW, "test -e theirs/gone && cat theirs/old/deep/file").expect_code(0);
}

/// `check`, the sentence at the start and the record say who shows the directory, and why.
#[test]
fn who_shows_it_is_said() {
    let place = Place::new();
    if foreign(&place).is_none() {
        return;
    }
    let why = if is_root() { "of user 4321" } else { "of group" };
    let checked = place.ask(["check", "--cow", "theirs", "--", "true"]);
    checked.expect_code(0).prints("served by a process of ours").prints(why);
    place.shell(&COW, "true").expect_code(0);
    let records = serde_json::to_string(&place.records()).unwrap();
    assert!(records.contains(" served ") && records.contains(why), "{records}");
    // The kernel shows what it can.
    place.write("ours/file", "");
    let own = place.ask(["check", "--cow", "ours", "--", "true"]);
    own.expect_code(0);
    assert!(!own.stdout.contains("served by"), "{}", own.stdout);
}

/// What is hidden inside is neither read nor moved aside nor replaced, and what is only read stays as it is: by whatever
/// name, link or directory above it.
#[test]
fn rules_inside_hold() {
    let place = Place::new();
    let Some(directory) = foreign(&place) else { return };
    let before = tree(&directory);
    place.default_cage(
        "fs = [{ cow = \"theirs\" }, { hide = \"theirs/private\" }, { ro = \"theirs/fixed\" }]",
    );
    let line = "
        cd theirs; ls -a; cat private/key; mv private aside; cat aside/key; ln private/key k; cat k
        ln -s private/key link; cat link; cat old/../private/key; mkdir private; mv old private
        echo evil > fixed/file; rm fixed/file; mv fixed away; echo evil > fixed/new; cat fixed/file; true";
    let ended = place.shell(&["--session", "work"], line);
    ended.expect_code(0).prints("fixed\n");
    assert!(!ended.stdout.contains("secret"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("private"), "{}", ended.stdout);
    assert_eq!(tree(&directory), before);
    assert!(!upper(&place).join("private").exists() && !upper(&place).join("fixed").exists());
    // Nothing else of the host can be mounted in it.
    place.default_cage("fs = [{ cow = \"theirs\" }, { rw = \"theirs/fixed\" }]");
    place.shell(&[], "true").expect_code(123).says("without the kernel's help");
}

/// T12: what overlayfs would take for a note of its own, a program can neither make nor see; nor can it see those that are
/// there.
#[test]
fn notes_cannot_be_forged() {
    let place = Place::new();
    let Some(_) = foreign(&place) else { return };
    if testing::find("python3").is_none() {
        return testing::skip("there is no python3");
    }
    let line = r#"
cd theirs; rm gone; rm -r old; mkdir old; echo >> text
python3 - <<'END'
import errno, os, stat
def refused(what, act):
    try: act()
    except OSError as error: print(what, errno.errorcode[error.errno])
    else: print(what, 'DONE')
refused('mknod', lambda: os.mknod('white', stat.S_IFCHR, os.makedev(0, 0)))
for name in ('user.overlay.opaque', 'user.overlay.redirect', 'user.overlay.whiteout', 'user.overlay.metacopy'):
    refused('set', lambda: os.setxattr('text', name, b'y'))
    refused('get', lambda: os.getxattr('old', name))
    refused('remove', lambda: os.removexattr('old', name))
os.setxattr('text', 'user.mine', b'v')
print(os.listxattr('old'), os.listxattr('text'), os.listdir('old'), os.path.lexists('gone'))
END"#;
    let ended = place.shell(&COW, line);
    ended.expect_code(0).prints("mknod EPERM\n").prints("[] ['user.mine'] [] False");
    assert!(!ended.stdout.contains("DONE"), "{}", ended.stdout);
    assert_eq!(
        ended.stdout.matches("EOPNOTSUPP").count() + ended.stdout.matches("ENOTSUP").count(),
        12
    );
}

/// A directory that another user alone may read stays closed to the program, and so does a file.
#[test]
fn what_its_owner_alone_may_read_stays_closed() {
    let place = Place::new();
    let Some(directory) = foreign(&place) else { return };
    if !is_root() {
        return testing::skip("only root can have files of two users");
    }
    chown(directory.join("text"), Some(4321), Some(4321)).unwrap();
    fs::set_permissions(directory.join("text"), fs::Permissions::from_mode(0o600)).unwrap();
    let ended =
        place.shell(&COW, "cat theirs/text; echo x > theirs/text; echo $?; cat theirs/gone");
    ended.expect_code(0).prints("gone\n");
    assert!(!ended.stdout.contains("two"), "{}", ended.stdout);
    assert!(!upper(&place).join("text").exists());
}

/// T12: who shows a directory has of the host that one, its layer and its own descriptors; no network, no variable, and one
/// capability, which means nothing outside its own namespace.
#[test]
fn who_shows_it_has_nothing_else() {
    let place = Place::new();
    if foreign(&place).is_none() {
        return;
    }
    place.write("signs/here", "");
    let line = "cat theirs/text; echo > signs/ready; while test ! -e signs/go; do sleep 0.05; done";
    let words = [&["run"], &COW[..], &["--rw", "signs", "--", "sh", "-c", line]].concat();
    let mut child = place.stockade().args(words).stdout(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + slowly(Duration::from_secs(20));
    while !place.project.join("signs/ready").exists() {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    let all = servers(child.id());
    assert_eq!(all.len(), 1, "{all:?}");
    for pid in all {
        assert_eq!((field(pid, "Seccomp"), field(pid, "NoNewPrivs")), ("2".into(), "1".into()));
        let sets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(|set| field(pid, set));
        let sets = sets.each_ref().map(|set| set.trim_start_matches('0'));
        assert_eq!(sets, ["", "2", "2", "", ""]);
        if !is_root() {
            // Nobody but root looks into a process that may not be looked into.
            assert!(fs::read_dir(format!("/proc/{pid}/root/")).is_err());
            continue;
        }
        let names = fs::read_dir(format!("/proc/{pid}/root/")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["descriptors", "lower", "store"]);
        for space in ["net", "user", "mnt", "ipc"] {
            let of = |who: &str| fs::read_link(format!("/proc/{who}/ns/{space}")).unwrap();
            assert_ne!(of(&pid.to_string()), of("self"), "{space}");
        }
        assert!(fs::read(format!("/proc/{pid}/environ")).unwrap().is_empty());
    }
    place.write("signs/go", "");
    assert!(child.wait().unwrap().success());
}
