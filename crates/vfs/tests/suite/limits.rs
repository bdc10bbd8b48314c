//! Limits: each is reached, names its setting, and is given back by what goes.

use rustix::io::Errno;
use vfs::{At, Caller, FileSystem, Limits, New, OpenFlags, Setting};

use crate::engines;
use crate::posix::Shell;

fn files(limits: Limits) -> FileSystem {
    FileSystem::new(engines::memory(limits), &limits)
}

#[track_caller]
fn refused<T>(result: vfs::Result<T>, errno: Errno, setting: Setting) {
    let Err(error) = result else { panic!("it was let through") };
    assert_eq!((error.errno, error.setting), (errno, Some(setting)));
    assert!(error.to_string().contains(setting.name()), "{error}");
}

/// A21: bytes, those of one file, and what is freed.
#[test]
fn bytes_are_bounded() {
    let files =
        files(Limits { max_bytes: 16 * 4096, max_file_bytes: 1 << 20, ..Limits::default() });
    let root = Caller::root();
    let shell = Shell::new(&files, 0);
    shell.put("/f", &"x".repeat(10 * 4096)).unwrap();
    refused(files.write_file(&root, b"/g", &[1; 7 * 4096]), Errno::NOSPC, Setting::Bytes);
    // A write is done in part where some of it fits.
    assert_eq!(shell.stat("/g").size, 6 * 4096);
    shell.unlink("/g").unwrap();
    shell.put("/g", &"y".repeat(6 * 4096)).unwrap();
    let target = [b'x'; 100];
    refused(
        files.make(&root, At::Root, b"/l", New::Link(&target), 0),
        Errno::NOSPC,
        Setting::Bytes,
    );
    files.set_size(&root, At::Root, b"/f", 0).unwrap();
    files.make(&root, At::Root, b"/l", New::Link(&target), 0).unwrap();
    refused(files.set_size(&root, At::Root, b"/f", (1 << 20) + 1), Errno::FBIG, Setting::FileBytes);
    files.set_size(&root, At::Root, b"/f", 1 << 20).unwrap();
    let file = shell.open("/f", OpenFlags { append: true, ..OpenFlags::WRITE }).unwrap();
    refused(file.write(&root, b"x"), Errno::FBIG, Setting::FileBytes);
    drop(file);
    for name in ["/f", "/g", "/l"] {
        shell.unlink(name).unwrap();
    }
    let space = files.space(&root, At::Root, b"/").unwrap();
    assert_eq!((space.free_blocks, space.inodes - space.free_inodes), (16, 0));
}

/// A21: inodes, names in a directory, open files, and one read or write.
#[test]
fn counts_are_bounded() {
    let limits = Limits {
        max_inodes: 6,
        max_directory_entries: 4,
        max_open_files: 2,
        max_io_bytes: 100,
        ..Limits::default()
    };
    let files = files(limits);
    let root = Caller::root();
    let shell = Shell::new(&files, 0);
    let make = |path: &str| files.make(&root, At::Root, path.as_bytes(), New::File, 0o644);
    shell.mkdir("/d", 0o755).unwrap();
    for name in ["/d/1", "/d/2", "/d/3", "/d/4"] {
        make(name).unwrap();
    }
    refused(make("/d/5"), Errno::NOSPC, Setting::DirectoryEntries);
    shell.link("/d/1", "/e").unwrap();
    refused(make("/f"), Errno::NOSPC, Setting::Inodes);
    shell.unlink("/d/1").unwrap();
    make("/f").unwrap();
    // A file that is open keeps its inode until it is closed.
    let open = shell.open("/f", OpenFlags { read: true, ..OpenFlags::WRITE }).unwrap();
    shell.unlink("/f").unwrap();
    refused(make("/g"), Errno::NOSPC, Setting::Inodes);
    let second = shell.open("/e", OpenFlags::READ).unwrap();
    let third = files.open(&root, At::Root, b"/e", OpenFlags::READ, 0);
    refused(third, Errno::NFILE, Setting::OpenFiles);
    drop(second);
    shell.open("/e", OpenFlags::READ).unwrap();
    assert_eq!(open.write(&root, &[1; 1000]), Ok(100));
    let mut bytes = [0; 1000];
    assert_eq!(open.read_at(0, &mut bytes), Ok(100));
    drop(open);
    make("/g").unwrap();
}

/// A10: two file systems know nothing of each other.
#[test]
fn file_systems_are_apart() {
    let (one, other) = (files(Limits::default()), files(Limits::default()));
    Shell::new(&one, 0).put("/secret", "x").unwrap();
    assert_eq!(Shell::new(&other, 0).text("/secret"), Err(Errno::NOENT));
    assert_eq!(Shell::new(&other, 0).text("/../secret"), Err(Errno::NOENT));
}

/// A21: a tree of any depth is made, and given back without recursion.
#[test]
fn deep_trees_end() {
    let files = files(Limits::default());
    let root = Caller::root();
    let mut at = files.open(&root, At::Root, b"/", OpenFlags::READ, 0).unwrap();
    for _ in 0..engines::DEEPEST {
        files.make(&root, At::Directory(&at), b"d", New::Directory, 0o755).unwrap();
        at = files.open(&root, At::Directory(&at), b"d", OpenFlags::READ, 0).unwrap();
    }
    drop(at);
    drop(files);
}
