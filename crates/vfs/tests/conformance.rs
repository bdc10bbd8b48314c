//! Every family of system calls, on each engine in this process.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use conformance::exerciser::{self, InProcess};
use conformance::{Guest, compare, families};
use rustix::fs::{Mode, OFlags};
use vfs::{
    At, Caller, Engine, FileSystem, Host, HostMode, Limits, Memory, Mounts, Overlay, Replace,
};

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default()))
}

fn overlay() -> Arc<dyn Engine> {
    Arc::new(Overlay::new(Vec::new(), memory(), &Limits::default()).unwrap())
}

fn check(what: &str, make: fn() -> Arc<dyn Engine>) {
    families::check(what, &mut || Guest::new(make(), &Limits::default()));
}

/// A11, A18
#[test]
fn memory_holds_to_the_tables() {
    check("memory", memory);
}

/// A18, A19
#[test]
fn overlay_holds_to_the_tables() {
    check("overlay", overlay);
}

/// A3, A18
#[test]
fn mounts_hold_to_the_tables() {
    check("mounts", || Mounts::new(memory()));
}

/// A12, A18
#[test]
fn host_holds_to_the_tables() {
    if !testing::is_root() {
        testing::skip("only root can give files to others");
        return;
    }
    let above = tempfile::tempdir_in("/dev/shm").unwrap();
    families::check("host", &mut || {
        let place = tempfile::tempdir_in(above.path()).unwrap().keep();
        rustix::fs::chmod(&place, Mode::from_raw_mode(0o755)).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&place, flags, Mode::empty()).unwrap();
        let host = Host::new(directory, HostMode::WritableAsCaller, &Limits::default()).unwrap();
        Guest::new(Arc::new(host), &Limits::default())
    });
}

fn opened(path: &std::path::Path) -> std::os::fd::OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

/// A layer over another one, with what it notes, in a directory of the host.
fn upper_on_host(place: &std::path::Path, lowers: Vec<Arc<dyn Engine>>) -> Arc<dyn Engine> {
    for name in ["tree", "marks"] {
        let _there = std::fs::create_dir(place.join(name));
    }
    let limits = Limits::default();
    let host = Host::new(opened(&place.join("tree")), HostMode::WritableAsCaller, &limits).unwrap();
    let host = host.with_marks(opened(&place.join("marks"))).unwrap();
    Arc::new(Overlay::new(lowers, Arc::new(host), &limits).unwrap())
}

/// The same in the form of the kernel's overlayfs.
fn upper_as_the_kernels(place: &std::path::Path, lowers: Vec<Arc<dyn Engine>>) -> Arc<dyn Engine> {
    for name in ["upper", "work"] {
        let _there = std::fs::create_dir(place.join(name));
    }
    let limits = Limits::default();
    let host = Host::new(opened(place), HostMode::WritableAsCaller, &limits).unwrap();
    let upper = Arc::new(host.with_marks_of_kernel());
    Arc::new(Overlay::as_the_kernel(lowers, upper, &limits).unwrap())
}

/// A18, A19
#[test]
fn overlay_in_the_form_of_the_kernels_holds_to_the_tables() {
    if !testing::is_root() {
        testing::skip("only root can give files to others");
        return;
    }
    let above = tempfile::tempdir_in("/dev/shm").unwrap();
    // Lower layers that have something, so that names are hidden.
    families::check("overlay in the kernel's form", &mut || {
        let place = tempfile::tempdir_in(above.path()).unwrap().keep();
        Guest::new(upper_as_the_kernels(&place, vec![memory()]), &Limits::default())
    });
}

/// A12, A18, A19
#[test]
fn overlay_on_a_directory_holds_to_the_tables() {
    if !testing::is_root() {
        testing::skip("only root can give files to others");
        return;
    }
    let above = tempfile::tempdir().unwrap();
    families::check("overlay on a directory", &mut || {
        let place = tempfile::tempdir_in(above.path()).unwrap().keep();
        Guest::new(upper_on_host(&place, Vec::new()), &Limits::default())
    });
}

/// A19: what an upper layer hides stays hidden when it is used again; a directory of the same name hides what was below.
#[test]
fn marks_of_a_directory_outlive_the_process() {
    let place = tempfile::tempdir().unwrap();
    let Some(files) = hide_and_open_again(place.path(), upper_on_host) else { return };
    let root = Caller::root();
    // Nothing is left of what was noted of a directory that is gone.
    files.remove_tree(&root, b"/moved").unwrap();
    files.remove_tree(&root, b"/d").unwrap();
    let marked = std::fs::read_dir(place.path().join("marks")).unwrap();
    let left: Vec<_> = marked.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A19: the same in the form of the kernel's, which leaves nothing in the directory where copies are made.
#[test]
fn notes_of_the_kernels_form_outlive_the_process() {
    let place = tempfile::tempdir().unwrap();
    let Some(files) = hide_and_open_again(place.path(), upper_as_the_kernels) else { return };
    let root = Caller::root();
    files.rename(&root, (At::Root, b"/d"), (At::Root, b"/m"), Replace::Yes).unwrap();
    files.write_file(&root, b"/d", b"a file").unwrap();
    assert_eq!(files.list(&root, b"/m/e").unwrap().len(), 0);
    files.remove_tree(&root, b"/moved").unwrap();
    files.remove_tree(&root, b"/m").unwrap();
    assert_eq!(files.list(&root, b"/").unwrap().len(), 1);
    let names = |path: &str| -> Vec<_> {
        let names = std::fs::read_dir(place.path().join(path)).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!((names("upper"), names("work/staging").len()), (vec!["d".into(), "m".into()], 0));
}

type Open = fn(&std::path::Path, Vec<Arc<dyn Engine>>) -> Arc<dyn Engine>;

/// An overlay in which names of all kinds were hidden and made anew, as it is when it is opened again.
fn hide_and_open_again(place: &std::path::Path, upper: Open) -> Option<FileSystem> {
    let lower = memory();
    let (root, limits) = (Caller::root(), Limits::default());
    let below = FileSystem::new(Arc::clone(&lower), &limits);
    let long = [b"/d/".to_vec(), vec![b'x'; 255]].concat();
    for path in [&b"/d/e"[..], b"/m/n"] {
        below.make_directories(&root, path).unwrap();
    }
    for path in [&b"/d/f"[..], b"/d/e/g", b"/m/n/o", &long] {
        below.write_file(&root, path, b"below").unwrap();
    }
    if !testing::is_root() {
        testing::skip("only root can give files to others");
        return None;
    }
    let open = || FileSystem::new(upper(place, vec![Arc::clone(&lower)]), &limits);
    let files = open();
    for path in [&b"/d/f"[..], &long, b"/d/e"] {
        files.remove_tree(&root, path).unwrap();
    }
    files.make_directories(&root, b"/d/e").unwrap();
    files.rename(&root, (At::Root, b"/m"), (At::Root, b"/moved"), Replace::Yes).unwrap();
    files.remove_tree(&root, b"/moved/n/o").unwrap();
    drop(files);
    let files = open();
    let names = |path: &[u8]| -> Vec<String> {
        let mut names: Vec<_> = files.list(&root, path).unwrap().into_iter().collect();
        names.sort_by(|one, other| one.name.cmp(&other.name));
        names.iter().map(|one| String::from_utf8_lossy(&one.name).into_owned()).collect()
    };
    assert_eq!((names(b"/"), names(b"/d")), (vec!["d".into(), "moved".into()], vec!["e".into()]));
    assert_eq!((names(b"/d/e"), names(b"/moved/n")), (Vec::new(), Vec::new()));
    Some(files)
}

/// A18, A20: what is read is what was written, whatever came between. `STOCKADE_VFS_OPERATIONS` makes it a long run.
#[test]
fn contents_are_what_was_written() {
    let operations = compare::operations(3000);
    for (what, engine) in [("memory", memory()), ("overlay", overlay())] {
        let mut file = InProcess::new(engine);
        exerciser::run(what, compare::first_seed(), operations, &mut file);
    }
}
