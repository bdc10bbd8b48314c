//! Trees of engines, what is read-only, and rules about paths.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{
    At, Caller, Engine, FileSystem, Follow, Grant, Limits, Memory, Mounts, OpenFlags, Placement,
    ReadOnly, Replace, Scoped,
};

use crate::engines;
use crate::posix::Shell;

fn file_system(engine: Arc<dyn Engine>) -> FileSystem {
    FileSystem::new(engine, &Limits::default())
}

fn filled(paths: &[(&str, &str)]) -> Arc<dyn Engine> {
    let engine = engines::memory(Limits::default());
    let files = file_system(Arc::clone(&engine));
    let shell = Shell::new(&files, 0);
    for (path, text) in paths {
        let directory = path.rsplit_once('/').unwrap().0;
        if !directory.is_empty() {
            files.make_directories(&Caller::root(), directory.as_bytes()).unwrap();
        }
        if !text.is_empty() {
            shell.put(path, text).unwrap();
        }
    }
    engine
}

/// A3: the longest prefix owns a path, by whatever link it is reached, and mount points are listed.
#[test]
fn the_deepest_mount_owns_a_path() {
    let root = filled(&[("/data/", ""), ("/mnt/code/", ""), ("/data/hidden", "root")]);
    let tree = Mounts::new(root);
    let data = filled(&[("/x", "data"), ("/data/x", "twice"), ("/inner/", "")]);
    tree.mount(b"/data", data, Placement::Ordinary).unwrap();
    tree.mount(b"/data/inner", filled(&[("/y", "inner")]), Placement::Ordinary).unwrap();
    let files = file_system(tree.clone());
    let shell = Shell::new(&files, 0);
    for (path, text) in [
        ("/data/x", Ok("data")),
        // The same name again is another path.
        ("/data/data/x", Ok("twice")),
        ("/data/inner/y", Ok("inner")),
        ("/data/inner/../x", Ok("data")),
        ("/data/inner/../../data/x", Ok("data")),
        ("/data/hidden", Err(Errno::NOENT)),
        ("/data/../../../data/x", Ok("data")),
    ] {
        assert_eq!(shell.text(path), text.map(str::to_owned), "{path}");
    }
    shell.symlink("/data/inner", "/mnt/code/link").unwrap();
    assert_eq!(shell.text("/mnt/code/link/y"), Ok("inner".into()));
    assert_eq!(shell.text("/mnt/code/link/../x"), Ok("data".into()));
    let names = files.list(&Caller::root(), b"/").unwrap();
    assert_eq!(names.iter().filter(|one| one.name == b"data").count(), 1);
}

/// A8: names do not cross mounts, mount points stay, and what has mounts in it is not taken away.
#[test]
fn mounts_are_file_systems_of_their_own() {
    let tree = Mounts::new(filled(&[("/a/", ""), ("/f", "f"), ("/etc/x", "x"), ("/proc/", "")]));
    let engine = || filled(&[("/b/", ""), ("/g", "g")]);
    tree.mount(b"/a", engine(), Placement::Ordinary).unwrap();
    tree.mount(b"/a/b", engine(), Placement::Ordinary).unwrap();
    let refused = |path: &[u8], placement| tree.mount(path, engine(), placement).unwrap_err().errno;
    for path in [&b"/"[..], b"/etc", b"/proc", b"/a/../etc"] {
        assert_eq!(refused(path, Placement::Ordinary), Errno::PERM);
    }
    assert_eq!(refused(b"/a", Placement::Ordinary), Errno::BUSY);
    assert_eq!(refused(b"/", Placement::Sensitive), Errno::BUSY);
    assert_eq!(refused(b"/f", Placement::Ordinary), Errno::NOTDIR);
    assert_eq!(refused(b"/none", Placement::Ordinary), Errno::NOENT);
    tree.mount(b"/etc", engine(), Placement::Sensitive).unwrap();
    let files = file_system(tree.clone());
    let shell = Shell::new(&files, 0);
    assert_eq!(shell.rename("/f", "/a/f", Replace::Yes), Err(Errno::XDEV));
    assert_eq!(shell.link("/f", "/a/f"), Err(Errno::XDEV));
    assert_eq!(shell.rename("/a", "/c", Replace::Yes), Err(Errno::BUSY));
    assert_eq!(shell.rmdir("/a/b"), Err(Errno::BUSY));
    assert_eq!(tree.unmount(b"/a").unwrap_err().errno, Errno::BUSY);
    assert_eq!(tree.unmount(b"/f").unwrap_err().errno, Errno::NOTDIR);
    assert_eq!(tree.unmount(b"/proc").unwrap_err().errno, Errno::INVAL);
    // What is open in it stays usable.
    let open = shell.open("/a/b/g", OpenFlags::READ).unwrap();
    tree.unmount(b"/a/b").unwrap();
    let mut byte = [0];
    assert_eq!(open.read(&mut byte), Ok(1));
    assert_eq!(shell.text("/a/b/g"), Err(Errno::NOENT));
    tree.unmount(b"/a").unwrap();
    assert_eq!(shell.rename("/a", "/c", Replace::Yes), Ok(()));
}

/// A7: what is mounted for reading refuses in the engine, and reads as before.
#[test]
fn read_only_refuses_everything() {
    let files = file_system(Arc::new(ReadOnly::new(filled(&[("/d/f", "text"), ("/d/g", "x")]))));
    let shell = Shell::new(&files, 0);
    assert_eq!(shell.text("/d/f"), Ok("text".into()));
    for outcome in [
        shell.put("/d/f", "other"),
        shell.put("/d/new", "other"),
        shell.mkdir("/e", 0o755),
        shell.symlink("x", "/l"),
        shell.link("/d/f", "/h"),
        shell.unlink("/d/f"),
        shell.rmdir("/d").and(Err(Errno::ROFS)),
        shell.rename("/d/f", "/d/g", Replace::Yes),
        shell.chmod("/d/f", 0o600),
        shell.chown("/d/f", Some(1), None),
    ] {
        assert_eq!(outcome, Err(Errno::ROFS));
    }
}

fn scoped(rules: &[(&str, Grant)]) -> FileSystem {
    let tree = filled(&[
        ("/work/f", "work"),
        ("/work/secret/key", "key"),
        ("/work/sub/f", "sub"),
        ("/read/f", "read"),
        ("/other/f", "other"),
        ("/a/b/c/f", "deep"),
        ("/a/b/sibling", "sibling"),
        ("/plain", "plain"),
    ]);
    let files = file_system(Arc::clone(&tree));
    let shell = Shell::new(&files, 0);
    shell.symlink("/other/f", "/work/to_other").unwrap();
    shell.symlink("/work/f", "/other/to_work").unwrap();
    shell.symlink("secret", "/work/to_secret").unwrap();
    let rules: Vec<_> = rules.iter().map(|(path, grant)| (path.as_bytes(), *grant)).collect();
    file_system(Arc::new(Scoped::new(tree, &rules).unwrap()))
}

const RULES: &[(&str, Grant)] = &[
    ("/work", Grant::Write),
    ("/work/secret", Grant::Nothing),
    ("/read", Grant::Read),
    ("/a/b/c", Grant::Read),
];

/// A2: nothing is granted by default, and the subject is the path that links lead to.
#[test]
fn rules_are_about_where_paths_lead() {
    let files = scoped(RULES);
    let shell = Shell::new(&files, 0);
    for (path, expected) in [
        ("/work/f", Ok("work")),
        ("/work/sub/../f", Ok("work")),
        ("/read/../work/sub/f", Ok("sub")),
        ("/a/b/c/f", Ok("deep")),
        ("/work/to_other", Err(Errno::ACCESS)),
        ("/work/to_secret/key", Err(Errno::ACCESS)),
        ("/work/secret/key", Err(Errno::ACCESS)),
        ("/other/f", Err(Errno::ACCESS)),
        // Whether it is there is not told.
        ("/other/none", Err(Errno::ACCESS)),
        ("/none", Err(Errno::ACCESS)),
        ("/plain", Err(Errno::ACCESS)),
        ("/a/b/sibling", Err(Errno::ACCESS)),
        ("/work/../other/f", Err(Errno::ACCESS)),
    ] {
        assert_eq!(shell.text(path), expected.map(str::to_owned), "{path}");
    }
    let nothing = scoped(&[]);
    assert_eq!(Shell::new(&nothing, 0).text("/work/f"), Err(Errno::ACCESS));
    let all = scoped(&[("/", Grant::Read)]);
    assert_eq!(Shell::new(&all, 0).text("/other/to_work"), Ok("work".into()));
}

/// A2, T65: `lstat` and `readlink` are asked about too, and listings show what may be known.
#[test]
fn links_and_listings_are_ruled() {
    let files = scoped(RULES);
    let root = Caller::root();
    let errno = |path: &str| {
        files
            .stat(&root, At::Root, path.as_bytes(), Follow::No)
            .map(|_| ())
            .map_err(|error| error.errno)
    };
    assert_eq!(errno("/work/to_other"), Ok(()));
    assert_eq!(errno("/other/to_work"), Err(Errno::ACCESS));
    assert_eq!(errno("/work/secret"), Err(Errno::ACCESS));
    // The way to what is granted.
    assert_eq!((errno("/a"), errno("/a/b"), errno("/")), (Ok(()), Ok(()), Ok(())));
    let link = |path: &[u8]| files.read_link(&root, At::Root, path).map_err(|error| error.errno);
    assert_eq!(link(b"/work/to_other"), Ok(b"/other/f".to_vec()));
    assert_eq!(link(b"/other/to_work"), Err(Errno::ACCESS));
    let names = |path: &[u8]| {
        let mut names: Vec<_> =
            files.list(&root, path).unwrap().into_iter().map(|one| one.name).collect();
        names.sort();
        names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names(b"/"), "a read work");
    assert_eq!(names(b"/a/b"), "c");
    assert_eq!(names(b"/work"), "f sub to_other to_secret");
}

/// A2: writing is asked about at both ends of a rename and a link.
#[test]
fn both_ends_are_ruled() {
    let files = scoped(RULES);
    let shell = Shell::new(&files, 0);
    assert_eq!(shell.put("/read/f", "x"), Err(Errno::ACCESS));
    assert_eq!(shell.put("/read/new", "x"), Err(Errno::ACCESS));
    assert_eq!(shell.put("/new", "x"), Err(Errno::ACCESS));
    assert_eq!(shell.chmod("/read/f", 0o777), Err(Errno::ACCESS));
    assert_eq!(shell.unlink("/read/f"), Err(Errno::ACCESS));
    let crossed = [Err(Errno::XDEV), Err(Errno::ACCESS)];
    assert!(crossed.contains(&shell.rename("/work/f", "/read/g", Replace::Yes)));
    assert!(crossed.contains(&shell.rename("/read/f", "/work/g", Replace::Yes)));
    assert!(crossed.contains(&shell.link("/read/f", "/work/g")));
    // What a rule names stays.
    assert!(shell.rename("/work", "/work2", Replace::Yes).is_err());
    assert!(shell.rmdir("/work/secret").is_err());
    shell.put("/work/f", "new").unwrap();
    shell.rename("/work/f", "/work/sub/g", Replace::Yes).unwrap();
    assert_eq!(shell.text("/work/sub/g"), Ok("new".into()));
    let many = vec![(&b"/x"[..], Grant::Read); 3000];
    assert!(
        Scoped::new(Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default())), &many)
            .is_ok()
    );
    let wrong = Scoped::new(engines::memory(Limits::default()), &[(b"relative", Grant::Read)]);
    assert_eq!(wrong.unwrap_err().errno, Errno::INVAL);
}
