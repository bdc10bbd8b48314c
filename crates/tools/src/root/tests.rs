//! Nothing leads out of a root, by the kernel's look-up and by the one step by step, which give the same.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use tempfile::TempDir;

use super::{Root, steps};

fn tree() -> TempDir {
    let outer = TempDir::new().expect("a directory");
    let root = outer.path().join("root");
    fs::create_dir_all(root.join("a/b")).expect("directories");
    fs::write(outer.path().join("secret"), "s").expect("a file");
    fs::write(root.join("f"), "f").expect("a file");
    fs::write(root.join("a/f"), "af").expect("a file");
    for (target, name) in [
        ("../secret", "out"),
        ("/etc/passwd", "absolute"),
        ("a", "down"),
        ("../f", "a/up"),
        ("loop", "loop"),
        ("nowhere", "dangling"),
        ("..", "parent"),
        ("/f", "a/from_root"),
    ] {
        symlink(target, root.join(name)).expect("a link");
    }
    outer
}

fn by_kernel(root: &Root, path: &str, resolve: ResolveFlags) -> Result<(u64, u64), Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(&root.directory, path, flags, Mode::empty(), resolve).and_then(identity)
}

fn by_steps(root: &Root, path: &str, resolve: ResolveFlags) -> Result<(u64, u64), Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    steps::open(&root.directory, Path::new(path), flags, Mode::empty(), resolve).and_then(identity)
}

fn identity(opened: std::os::fd::OwnedFd) -> Result<(u64, u64), Errno> {
    rustix::fs::fstat(opened).map(|stat| (stat.st_dev, stat.st_ino))
}

#[test]
fn nothing_leads_out() {
    let outer = tree();
    let root =
        Root::open(&outer.path().join("root"), Path::new("/w"), Path::new("/w/a")).expect("a root");
    for path in [
        "../../secret",
        "../out",
        "/w/out",
        "/w/absolute",
        "/w/parent/secret",
        "/w/parent/root/f",
        "/etc/passwd",
        "/wx",
    ] {
        let error = root.read(path).expect_err(path);
        assert_eq!(error.kind, crate::ErrorKind::Outside, "{path}: {error}");
        assert!(root.make(path).is_err() && root.change(path).is_err(), "{path}");
    }
    for (path, content) in
        [("f", "af"), ("../f", "f"), ("/w/f", "f"), ("/w/down/f", "af"), ("up", "f")]
    {
        assert_eq!(root.read(path).and_then(|mut opened| opened.content(10)).expect(path), content);
    }
    assert!(
        root.read("/w/loop").is_err()
            && root.read("/w/dangling").is_err()
            && root.read("").is_err()
    );
    assert!(root.make("/w/dangling").is_err(), "a link that leads nowhere is no place for a file");
    assert_eq!(fs::read_to_string(outer.path().join("secret")).expect("a file"), "s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_look_ups_agree(parts in prop::collection::vec(prop::sample::select(vec![
        ".", "..", "a", "b", "f", "out", "absolute", "down", "up", "loop", "dangling", "parent", "from_root", "root", "",
    ]), 1..6)) {
        let outer = tree();
        let root = Root::open(&outer.path().join("root"), Path::new("/"), Path::new("/")).expect("a root");
        let path = parts.join("/");
        prop_assume!(!path.is_empty());
        for resolve in [ResolveFlags::BENEATH, ResolveFlags::IN_ROOT] {
            let (kernel, steps) = (by_kernel(&root, &path, resolve), by_steps(&root, &path, resolve));
            match (kernel, steps) {
                (Ok(kernel), Ok(steps)) => prop_assert_eq!(kernel, steps, "{}", path),
                // Which of several reasons is named may differ.
                (kernel, steps) => prop_assert_eq!(kernel.is_err(), steps.is_err(), "{} {:?} {:?}", path, kernel, steps),
            }
        }
    }
}
