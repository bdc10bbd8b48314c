//! What an overlay is for: lower layers stay as they are, and whatever belongs to a file comes up with it.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{
    At, Caller, Engine, FileSystem, Follow, Limits, New, NewTime, OpenFlags, Overlay, Owner,
    ReadOnly, Replace, SetXattr, Setting, Times, Timestamp,
};

use crate::engines;
use crate::posix::Shell;

fn file_system(engine: &Arc<dyn Engine>) -> FileSystem {
    FileSystem::new(Arc::clone(engine), &Limits::default())
}

/// A lower layer, the upper one, and both together.
fn layers(fill: impl Fn(&Shell<'_>), upper: Limits) -> (FileSystem, FileSystem, FileSystem) {
    let lower = engines::memory(Limits::default());
    fill(&Shell::new(&file_system(&lower), 0));
    let top = engines::memory(upper);
    let frozen: Arc<dyn Engine> = Arc::new(ReadOnly::new(Arc::clone(&lower)));
    let overlay = Overlay::new(vec![frozen], Arc::clone(&top), &Limits::default()).unwrap();
    (file_system(&lower), file_system(&top), FileSystem::new(Arc::new(overlay), &Limits::default()))
}

/// A19: mode, owner, times and extended attributes come up with a file, and so do its holes; what lies below stays.
#[test]
fn copies_keep_everything() {
    let old = Timestamp { seconds: -5, nanoseconds: 7 };
    let fill = |shell: &Shell<'_>| {
        shell.mkdir("/d", 0o751).unwrap();
        shell.put("/d/f", "below").unwrap();
        shell.chmod("/d/f", 0o4750).unwrap();
        let owner = Owner { uid: Some(5), gid: Some(6) };
        shell.files.set_owner(&shell.caller, At::Root, b"/d/f", Follow::No, owner).unwrap();
        shell.chmod("/d/f", 0o4750).unwrap();
        let target = (At::Root, &b"/d/f"[..], Follow::No);
        let value = (&b"user.a"[..], &b"value"[..]);
        shell.files.set_xattr(&shell.caller, target, value, SetXattr::Any).unwrap();
        shell.files.set_size(&shell.caller, At::Root, b"/d/f", 1 << 30).unwrap();
        for path in [&b"/d/f"[..], b"/d"] {
            let times =
                Times { accessed: Some(NewTime::At(old)), modified: Some(NewTime::At(old)) };
            shell.files.set_times(&shell.caller, At::Root, path, Follow::No, times).unwrap();
        }
    };
    let (lower, _, both) = layers(fill, Limits::default());
    let (below, shell) = (Shell::new(&lower, 0), Shell::new(&both, 0));
    // Only what is asked for changes.
    let target = (At::Root, &b"/d/f"[..], Follow::No);
    both.set_xattr(&shell.caller, target, (b"user.b", b"x"), SetXattr::Any).unwrap();
    let (now, before) = (shell.stat("/d/f"), below.stat("/d/f"));
    assert_eq!((now.mode, now.uid, now.gid, now.modified), (0o4750, 5, 6, old));
    assert_eq!((now.size, now.links), (1 << 30, 1));
    assert_eq!(now.blocks, before.blocks);
    assert_eq!((shell.mode("/d"), shell.stat("/d").modified), (0o751, old));
    let xattr = |files: &FileSystem, name: &[u8]| {
        files.xattr(&shell.caller, At::Root, b"/d/f", Follow::No, name).map_err(|error| error.errno)
    };
    assert_eq!(xattr(&both, b"user.a"), Ok(b"value".to_vec()));
    assert_eq!(xattr(&lower, b"user.b"), Err(Errno::NODATA));
    assert_eq!(before.modified, old);
}

/// A19: two names of one file below are two names of one file, also when one of them has come up.
#[test]
fn hard_links_stay_together() {
    let fill = |shell: &Shell<'_>| {
        shell.put("/one", "old").unwrap();
        shell.link("/one", "/two").unwrap();
    };
    let (lower, _, both) = layers(fill, Limits::default());
    let shell = Shell::new(&both, 0);
    shell.put("/one", "new").unwrap();
    assert_eq!(shell.text("/two"), Ok("new".into()));
    assert_eq!(shell.stat("/one").number, shell.stat("/two").number);
    assert_eq!((shell.stat("/one").links, shell.stat("/two").links), (2, 2));
    shell.unlink("/one").unwrap();
    assert_eq!((shell.text("/two"), shell.stat("/two").links), (Ok("new".into()), 1));
    assert_eq!(Shell::new(&lower, 0).text("/one"), Ok("old".into()));
}

/// A19: so they do when one of them moves, or the directory that one is in.
#[test]
fn hard_links_move_by_each_of_their_names() {
    for (from, to) in [("/one", "/new"), ("/two", "/new"), ("/d/three", "/new"), ("/d", "/new")] {
        let fill = |shell: &Shell<'_>| {
            shell.mkdir("/d", 0o755).unwrap();
            shell.put("/one", "old").unwrap();
            shell.link("/one", "/two").unwrap();
            shell.link("/one", "/d/three").unwrap();
        };
        let (_, _, both) = layers(fill, Limits::default());
        let shell = Shell::new(&both, 0);
        // The name by which it is known first is where a copy is put.
        assert_eq!(shell.stat("/one").links, 3);
        shell.rename(from, to, Replace::Yes).unwrap();
        let names = ["/one", "/two", "/d/three"].map(|name| match name.strip_prefix(from) {
            Some(rest) => format!("{to}{rest}"),
            None => name.to_owned(),
        });
        shell.put(&names[2], "new").unwrap();
        for name in &names {
            assert_eq!((shell.text(name), shell.stat(name).links), (Ok("new".into()), 3), "{name}");
        }
    }
}

/// A19, T12, T65: what hides a lower name is no name, no attribute and no link; a guest can neither see nor make one.
#[test]
fn marks_are_out_of_reach() {
    let fill = |shell: &Shell<'_>| {
        shell.mkdir("/d", 0o755).unwrap();
        shell.put("/d/f", "below").unwrap();
        shell.put("/g", "below").unwrap();
    };
    let (_, upper, both) = layers(fill, Limits::default());
    let (shell, root) = (Shell::new(&both, 0), Caller::root());
    shell.unlink("/g").unwrap();
    shell.unlink("/d/f").unwrap();
    shell.rmdir("/d").unwrap();
    assert_eq!(both.list(&root, b"/").unwrap(), []);
    assert_eq!(Shell::new(&upper, 0).files.list(&root, b"/files").unwrap(), []);
    // A directory of the same name begins empty.
    shell.mkdir("/d", 0o755).unwrap();
    assert_eq!(both.list(&root, b"/d").unwrap(), []);
    assert_eq!(both.xattrs(&root, At::Root, b"/d", Follow::No).unwrap(), Vec::<Vec<u8>>::new());
    // The forms that other overlays know mean nothing here.
    for name in ["/.wh.x", "/.wh..wh..opq", "/.agent-overlay"] {
        shell.put(name, "plain").unwrap();
        assert_eq!(shell.text(name), Ok("plain".into()));
    }
    let target = (At::Root, &b"/d"[..], Follow::No);
    // Nor can those of the kernel's be made or seen, in either of its forms: a layer may be one of the kernel's later.
    for name in ["trusted.overlay.opaque", "trusted.overlay.redirect", "user.overlay.opaque"] {
        let name = name.as_bytes();
        let refused = both.set_xattr(&root, target, (name, b"y"), SetXattr::Any).unwrap_err();
        assert_eq!(refused.errno, Errno::OPNOTSUPP);
        let unseen = both.xattr(&root, At::Root, b"/d", Follow::No, name).unwrap_err();
        assert_eq!(unseen.errno, Errno::OPNOTSUPP);
    }
    assert_eq!(both.list(&root, b"/d").unwrap(), []);
    for path in ["/staging", "/files", "/../staging", "/d/../../files"] {
        assert_eq!(shell.text(path), Err(Errno::NOENT), "{path}");
    }
    shell.symlink("/staging", "/l").unwrap();
    assert_eq!(shell.text("/l"), Err(Errno::NOENT));
}

/// A19: the upper layer has a size, and what does not fit leaves everything as it was.
#[test]
fn the_upper_layer_has_a_size() {
    let fill = |shell: &Shell<'_>| shell.put("/big", &"x".repeat(1 << 20)).unwrap();
    let (_, _, both) = layers(fill, Limits { max_bytes: 1 << 19, ..Limits::default() });
    let shell = Shell::new(&both, 0);
    let flags = OpenFlags { append: true, ..OpenFlags::WRITE };
    let refused = both.open(&shell.caller, At::Root, b"/big", flags, 0).unwrap_err();
    assert_eq!((refused.errno, refused.setting), (Errno::NOSPC, Some(Setting::Bytes)));
    assert_eq!(shell.stat("/big").size, 1 << 20);
    // Nothing of the half of it is left.
    shell.put("/small", &"y".repeat(1 << 18)).unwrap();
}

/// A19: who reads a file while it comes up sees what is written to it; one that is removed stays usable.
#[test]
fn open_files_follow() {
    let (_, _, both) = layers(|shell| shell.put("/f", "below").unwrap(), Limits::default());
    let shell = Shell::new(&both, 0);
    let reader = shell.open("/f", OpenFlags::READ).unwrap();
    let mut text = [0; 5];
    reader.read_at(0, &mut text).unwrap();
    let writer = shell.open("/f", OpenFlags::WRITE).unwrap();
    writer.write(&shell.caller, b"ABOVE").unwrap();
    reader.read_at(0, &mut text).unwrap();
    assert_eq!(&text, b"ABOVE");
    shell.rename("/f", "/g", Replace::Yes).unwrap();
    shell.unlink("/g").unwrap();
    assert_eq!(reader.attributes(&shell.caller).unwrap().links, 0);
    reader.read_at(0, &mut text).unwrap();
    assert_eq!(&text, b"ABOVE");
    assert_eq!(shell.text("/f"), Err(Errno::NOENT));
}

/// A4: many lower layers: files hide what is below them, directories are merged, and one that moves takes all of it.
#[test]
fn layers_are_merged() {
    let engines: Vec<Arc<dyn Engine>> =
        (0..3).map(|_| engines::memory(Limits::default())).collect();
    for (number, engine) in engines.iter().enumerate() {
        let files = file_system(engine);
        let shell = Shell::new(&files, 0);
        shell.mkdir("/d", 0o755).unwrap();
        shell.put("/d/same", &format!("{number}")).unwrap();
        shell.put(&format!("/d/{number}"), "").unwrap();
        if number == 1 {
            shell.put("/x", "a file").unwrap();
        } else {
            shell.mkdir("/x", 0o755).unwrap();
            shell.put("/x/in", "hidden").unwrap();
        }
    }
    let lowers = engines[..2].to_vec();
    let overlay = Overlay::new(lowers, Arc::clone(&engines[2]), &Limits::default()).unwrap();
    let both = FileSystem::new(Arc::new(overlay), &Limits::default());
    let shell = Shell::new(&both, 0);
    let names = |path: &str| {
        let mut names: Vec<_> = both.list(&Caller::root(), path.as_bytes()).unwrap();
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let names = names.into_iter().map(|one| String::from_utf8(one.name).unwrap());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        (names("/"), names("/d"), names("/x")),
        ("d x".into(), "0 1 same".into(), "in".into())
    );
    assert_eq!(shell.text("/d/same"), Ok("0".into()));
    shell.rename("/d", "/e", Replace::Yes).unwrap();
    assert_eq!((names("/"), names("/e")), ("e x".into(), "0 1 same".into()));
    shell.mkdir("/d", 0o755).unwrap();
    assert_eq!(names("/d"), "");
    shell.unlink("/x/in").unwrap();
    shell.rmdir("/x").unwrap();
    assert_eq!(shell.text("/x"), Err(Errno::NOENT));
    // What was an upper layer is one again.
    drop(both);
    let again =
        Overlay::new(engines[..2].to_vec(), Arc::clone(&engines[2]), &Limits::default()).unwrap();
    let again = FileSystem::new(Arc::new(again), &Limits::default());
    assert_eq!(again.list(&Caller::root(), b"/e").unwrap().len(), 3);
    assert_eq!(Shell::new(&again, 0).text("/x"), Err(Errno::NOENT));
    let made = again.make(&Caller::root(), At::Root, b"/x", New::Directory, 0o755);
    assert_eq!(made, Ok(()));
}
