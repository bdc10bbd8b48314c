//! POSIX by family, each case on a fresh engine, as a script: who does what to which names, and what comes of it.

use rustix::io::Errno;
use vfs::{
    Allocate, At, Caller, Existing, FileSystem, Follow, Kind, New, NewTime, OpenFile, OpenFlags,
    Owner, Removal, Replace, Seek, SeekTo, SetXattr, Times, Timestamp,
};

use crate::engines;

/// A caller in one file system, for short scripts.
pub(crate) struct Shell<'a> {
    pub(crate) files: &'a FileSystem,
    pub(crate) caller: Caller,
}

type Outcome = Result<(), Errno>;

impl<'a> Shell<'a> {
    pub(crate) fn new(files: &'a FileSystem, uid: u32) -> Self {
        Self { files, caller: Caller { umask: 0, ..Caller::of(uid, uid) } }
    }

    fn done<T>(result: vfs::Result<T>) -> Outcome {
        result.map(drop).map_err(|error| error.errno)
    }

    pub(crate) fn mkdir(&self, path: &str, mode: u32) -> Outcome {
        Self::done(self.files.make(&self.caller, At::Root, path.as_bytes(), New::Directory, mode))
    }

    pub(crate) fn put(&self, path: &str, text: &str) -> Outcome {
        let caller = Caller { umask: 0o022, ..self.caller.clone() };
        Self::done(self.files.write_file(&caller, path.as_bytes(), text.as_bytes()))
    }

    pub(crate) fn text(&self, path: &str) -> Result<String, Errno> {
        let read = self.files.read_file(&self.caller, path.as_bytes(), 1 << 20);
        read.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|error| error.errno)
    }

    pub(crate) fn symlink(&self, target: &str, path: &str) -> Outcome {
        let new = New::Link(target.as_bytes());
        Self::done(self.files.make(&self.caller, At::Root, path.as_bytes(), new, 0))
    }

    pub(crate) fn link(&self, from: &str, to: &str) -> Outcome {
        let existing = Existing::Path(from.as_bytes(), Follow::No);
        Self::done(self.files.link(&self.caller, existing, At::Root, to.as_bytes()))
    }

    pub(crate) fn unlink(&self, path: &str) -> Outcome {
        Self::done(self.files.remove(&self.caller, At::Root, path.as_bytes(), Removal::File))
    }

    pub(crate) fn rmdir(&self, path: &str) -> Outcome {
        Self::done(self.files.remove(&self.caller, At::Root, path.as_bytes(), Removal::Directory))
    }

    pub(crate) fn rename(&self, from: &str, to: &str, how: Replace) -> Outcome {
        let (from, to) = ((At::Root, from.as_bytes()), (At::Root, to.as_bytes()));
        Self::done(self.files.rename(&self.caller, from, to, how))
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) -> Outcome {
        Self::done(self.files.set_mode(&self.caller, At::Root, path.as_bytes(), mode))
    }

    pub(crate) fn chown(&self, path: &str, uid: Option<u32>, gid: Option<u32>) -> Outcome {
        let owner = Owner { uid, gid };
        Self::done(self.files.set_owner(
            &self.caller,
            At::Root,
            path.as_bytes(),
            Follow::Yes,
            owner,
        ))
    }

    pub(crate) fn open(&self, path: &str, flags: OpenFlags) -> Result<OpenFile, Errno> {
        let opened = self.files.open(&self.caller, At::Root, path.as_bytes(), flags, 0o644);
        opened.map_err(|error| error.errno)
    }

    pub(crate) fn stat(&self, path: &str) -> vfs::Attributes {
        self.files.stat(&self.caller, At::Root, path.as_bytes(), Follow::No).unwrap()
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        self.stat(path).mode
    }
}

/// Runs a case on every engine, as root and a user.
#[track_caller]
fn each(case: impl Fn(&Shell<'_>, &Shell<'_>)) {
    for subject in engines::all() {
        eprintln!("{}", subject.name);
        let files = &subject.files;
        case(&Shell::new(files, 0), &Shell::new(files, 1000));
    }
}

/// A18: chmod.
#[test]
fn chmod() {
    each(|root, user| {
        root.mkdir("/d", 0o777).unwrap();
        user.put("/d/f", "x").unwrap();
        user.chmod("/d/f", 0o640).unwrap();
        assert_eq!(root.mode("/d/f"), 0o640);
        let other = Shell::new(root.files, 1001);
        assert_eq!(other.chmod("/d/f", 0o777), Err(Errno::PERM));
        assert_eq!(root.chmod("/d/none", 0o777), Err(Errno::NOENT));
        assert_eq!(root.chmod("/d/f/x", 0o777), Err(Errno::NOTDIR));
        // Not of a group of one's own: it loses setgid.
        root.chown("/d/f", None, Some(7)).unwrap();
        user.chmod("/d/f", 0o2755).unwrap();
        assert_eq!(root.mode("/d/f"), 0o755);
        root.chmod("/d/f", 0o6755).unwrap();
        // Whoever writes to it ends what it did for its owner.
        root.chmod("/d/f", 0o6777).unwrap();
        let file = other.open("/d/f", OpenFlags::WRITE).unwrap();
        file.write(&other.caller, b"y").unwrap();
        assert_eq!(root.mode("/d/f"), 0o777);
    });
}

/// A18: chown.
#[test]
fn chown() {
    each(|root, user| {
        root.mkdir("/d", 0o777).unwrap();
        user.put("/d/f", "x").unwrap();
        assert_eq!(user.chown("/d/f", Some(1001), None), Err(Errno::PERM));
        assert_eq!(user.chown("/d/f", None, Some(1001)), Err(Errno::PERM));
        user.chown("/d/f", Some(1000), Some(1000)).unwrap();
        root.chmod("/d/f", 0o6755).unwrap();
        root.chown("/d/f", Some(5), Some(6)).unwrap();
        let found = root.stat("/d/f");
        assert_eq!((found.uid, found.gid, found.mode), (5, 6, 0o755));
        root.symlink("f", "/d/l").unwrap();
        let owner = Owner { uid: Some(9), gid: None };
        root.files.set_owner(&root.caller, At::Root, b"/d/l", Follow::No, owner).unwrap();
        assert_eq!((root.stat("/d/l").uid, root.stat("/d/f").uid), (9, 5));
    });
}

/// A18: link.
#[test]
fn link() {
    each(|root, user| {
        root.mkdir("/d", 0o777).unwrap();
        user.put("/d/f", "x").unwrap();
        user.link("/d/f", "/d/g").unwrap();
        assert_eq!(root.stat("/d/f").links, 2);
        assert_eq!(root.stat("/d/f").number, root.stat("/d/g").number);
        assert_eq!(user.link("/d/f", "/d/g"), Err(Errno::EXIST));
        assert_eq!(user.link("/d/f", "/d/h/"), Err(Errno::NOENT));
        assert_eq!(root.link("/d", "/e"), Err(Errno::PERM));
        assert_eq!(user.link("/d/f", "/f"), Err(Errno::ACCESS));
        let other = Shell::new(root.files, 1001);
        // It could not even write to it.
        assert_eq!(other.link("/d/f", "/d/h"), Err(Errno::PERM));
        user.put("/d/g", "longer").unwrap();
        assert_eq!(root.text("/d/f"), Ok("longer".into()));
        user.unlink("/d/f").unwrap();
        assert_eq!(root.stat("/d/g").links, 1);
        // A link is given another name itself.
        root.symlink("g", "/d/l").unwrap();
        root.link("/d/l", "/d/m").unwrap();
        assert_eq!(root.stat("/d/m").kind, Kind::Link);
    });
}

/// A18: mkdir and rmdir.
#[test]
fn mkdir_and_rmdir() {
    each(|root, user| {
        let masked = Caller { umask: 0o027, ..root.caller.clone() };
        root.files.make(&masked, At::Root, b"/d", New::Directory, 0o7777).unwrap();
        assert_eq!(root.mode("/d"), 0o1750);
        assert_eq!(root.mkdir("/d", 0o777), Err(Errno::EXIST));
        assert_eq!(root.mkdir("/", 0o777), Err(Errno::EXIST));
        assert_eq!(root.mkdir("/x/y", 0o777), Err(Errno::NOENT));
        root.mkdir("/d/e/", 0o755).unwrap();
        assert_eq!(root.stat("/d").links, 3);
        assert_eq!(user.mkdir("/d/u", 0o755), Err(Errno::ACCESS));
        assert_eq!(root.rmdir("/d"), Err(Errno::NOTEMPTY));
        assert_eq!(root.rmdir("/d/."), Err(Errno::INVAL));
        assert_eq!(root.rmdir("/d/e/.."), Err(Errno::NOTEMPTY));
        assert_eq!(root.rmdir("/"), Err(Errno::BUSY));
        root.put("/d/f", "x").unwrap();
        assert_eq!(root.rmdir("/d/f"), Err(Errno::NOTDIR));
        assert_eq!(root.unlink("/d/e"), Err(Errno::ISDIR));
        let held = root.open("/d/e", OpenFlags::READ).unwrap();
        root.rmdir("/d/e").unwrap();
        let made = root.files.make(&root.caller, At::Directory(&held), b"x", New::Directory, 0o755);
        assert_eq!(made.unwrap_err().errno, Errno::NOENT);
        // A setgid directory hands its group down.
        root.mkdir("/g", 0o777).unwrap();
        root.chown("/g", None, Some(77)).unwrap();
        root.chmod("/g", 0o2777).unwrap();
        user.mkdir("/g/sub", 0o700).unwrap();
        assert_eq!((root.stat("/g/sub").gid, root.mode("/g/sub")), (77, 0o2700));
    });
}

/// A18: open, with each flag.
#[test]
fn open() {
    each(|root, user| {
        let open = |path: &str, flags: OpenFlags| root.open(path, flags).map(drop);
        let create = OpenFlags { create: true, ..OpenFlags::WRITE };
        open("/f", OpenFlags { exclusive: true, ..create }).unwrap();
        assert_eq!(open("/f", OpenFlags { exclusive: true, ..create }), Err(Errno::EXIST));
        root.symlink("nowhere", "/l").unwrap();
        assert_eq!(open("/l", OpenFlags { exclusive: true, ..create }), Err(Errno::EXIST));
        assert_eq!(open("/l", OpenFlags { no_follow: true, ..OpenFlags::READ }), Err(Errno::LOOP));
        // What it leads to is made.
        open("/l", create).unwrap();
        assert_eq!(root.stat("/nowhere").kind, Kind::File);
        let directory = OpenFlags { directory: true, ..OpenFlags::READ };
        assert_eq!(open("/f", directory), Err(Errno::NOTDIR));
        assert_eq!(open("/l", OpenFlags { no_follow: true, ..directory }), Err(Errno::NOTDIR));
        root.mkdir("/d", 0o755).unwrap();
        assert_eq!(open("/d", OpenFlags::WRITE), Err(Errno::ISDIR));
        assert_eq!(open("/d", OpenFlags { create: true, ..OpenFlags::READ }), Err(Errno::ISDIR));
        assert_eq!(open("/d/x/", create), Err(Errno::ISDIR));
        root.put("/f", "contents").unwrap();
        open("/f", OpenFlags { truncate: true, ..OpenFlags::WRITE }).unwrap();
        assert_eq!(root.stat("/f").size, 0);
        // Every write goes to the end, whoever wrote last.
        let one = root.open("/f", OpenFlags { append: true, ..OpenFlags::WRITE }).unwrap();
        one.write(&root.caller, b"1").unwrap();
        root.open("/f", OpenFlags::WRITE).unwrap().write_at(&root.caller, 1, b"22").unwrap();
        one.write(&root.caller, b"3").unwrap();
        one.write_at(&root.caller, 0, b"4").unwrap();
        assert_eq!(root.text("/f"), Ok("12234".into()));
        assert_eq!(user.open("/f", OpenFlags::WRITE).map(drop), Err(Errno::ACCESS));
        let mut byte = [0];
        assert_eq!(one.read(&mut byte).unwrap_err().errno, Errno::BADF);
        let reader = user.open("/f", OpenFlags::READ).unwrap();
        assert_eq!(reader.write(&user.caller, b"x").unwrap_err().errno, Errno::BADF);
        let held =
            root.open("/l", OpenFlags { path: true, no_follow: true, ..OpenFlags::READ }).unwrap();
        assert_eq!(held.attributes(&root.caller).unwrap().kind, Kind::Link);
        assert_eq!(held.read(&mut byte).unwrap_err().errno, Errno::BADF);
    });
}

/// A18: rename, with both flags.
#[test]
fn rename() {
    use Replace::{Exchange, No, Yes};
    each(|root, user| {
        for path in ["/d", "/d/e", "/d/e/f", "/empty", "/s"] {
            root.mkdir(path, 0o777).unwrap();
        }
        root.put("/a", "a").unwrap();
        root.put("/b", "b").unwrap();
        assert_eq!(root.rename("/a", "/b", No), Err(Errno::EXIST));
        root.rename("/a", "/b", Exchange).unwrap();
        assert_eq!((root.text("/a"), root.text("/b")), (Ok("b".into()), Ok("a".into())));
        root.rename("/a", "/b", Yes).unwrap();
        assert_eq!((root.text("/a"), root.text("/b")), (Err(Errno::NOENT), Ok("b".into())));
        assert_eq!(root.rename("/b", "/none", Exchange), Err(Errno::NOENT));
        assert_eq!(root.rename("/b", "/d", Yes), Err(Errno::ISDIR));
        assert_eq!(root.rename("/d", "/b", Yes), Err(Errno::NOTDIR));
        assert_eq!(root.rename("/empty", "/d", Yes), Err(Errno::NOTEMPTY));
        assert_eq!(root.rename("/d", "/d/e/x", Yes), Err(Errno::INVAL));
        assert_eq!(root.rename("/d/e/f", "/d", Yes), Err(Errno::NOTEMPTY));
        assert_eq!(root.rename("/d", "/d/e", Exchange), Err(Errno::INVAL));
        assert_eq!(root.rename("/d/.", "/x", Yes), Err(Errno::BUSY));
        assert_eq!(root.rename("/b", "/x/", Yes), Err(Errno::NOTDIR));
        root.rename("/d/e", "/empty", Yes).unwrap();
        assert_eq!((root.stat("/d").links, root.stat("/empty").links), (2, 3));
        root.rename("/empty/f", "/s", Exchange).unwrap();
        root.link("/b", "/c").unwrap();
        root.rename("/b", "/c", Yes).unwrap();
        assert_eq!(root.text("/b"), Ok("b".into()));
        // In a sticky directory names are their owners'.
        root.mkdir("/t", 0o777).unwrap();
        root.chmod("/t", 0o1777).unwrap();
        root.put("/t/roots", "x").unwrap();
        user.put("/t/users", "y").unwrap();
        assert_eq!(user.rename("/t/roots", "/t/mine", Yes), Err(Errno::PERM));
        assert_eq!(user.rename("/t/users", "/t/roots", Yes), Err(Errno::PERM));
        assert_eq!(user.unlink("/t/roots"), Err(Errno::PERM));
        user.rename("/t/users", "/t/other", Yes).unwrap();
        // What is open follows.
        let open = root.open("/c", OpenFlags::READ).unwrap();
        root.rename("/c", "/t/c", Yes).unwrap();
        root.unlink("/t/c").unwrap();
        root.unlink("/b").unwrap();
        let mut text = [0; 4];
        assert_eq!(open.read(&mut text), Ok(1));
        assert_eq!(open.attributes(&root.caller).unwrap().links, 0);
        let again = root.files.link(&root.caller, Existing::Open(&open), At::Root, b"/again");
        assert_eq!(again.unwrap_err().errno, Errno::NOENT);
    });
}

/// A18: symlink.
#[test]
fn symlink() {
    each(|root, user| {
        root.symlink("target", "/l").unwrap();
        assert_eq!(root.symlink("other", "/l"), Err(Errno::EXIST));
        assert_eq!(root.symlink("", "/m"), Err(Errno::NOENT));
        assert_eq!(root.symlink(&"x".repeat(4096), "/m"), Err(Errno::NAMETOOLONG));
        assert_eq!(user.symlink("x", "/m"), Err(Errno::ACCESS));
        let found = root.stat("/l");
        assert_eq!((found.kind, found.size), (Kind::Link, 6));
        assert_eq!(root.files.read_link(&root.caller, At::Root, b"/l").unwrap(), b"target");
        let refused = root.files.read_link(&root.caller, At::Root, b"/").unwrap_err();
        assert_eq!(refused.errno, Errno::INVAL);
        let odd = b"\xff\xfe \n";
        root.files.make(&root.caller, At::Root, odd, New::Link(b"\x80"), 0).unwrap();
        assert_eq!(root.files.read_link(&root.caller, At::Root, odd).unwrap(), b"\x80");
    });
}

/// A18: truncate, holes, and what is reserved.
#[test]
fn truncate() {
    each(|root, user| {
        root.put("/f", "contents").unwrap();
        let set = |shell: &Shell<'_>, path: &str, size: u64| {
            let done = shell.files.set_size(&shell.caller, At::Root, path.as_bytes(), size);
            done.map_err(|error| error.errno)
        };
        set(root, "/f", 3).unwrap();
        set(root, "/f", 5).unwrap();
        assert_eq!(root.text("/f"), Ok("con\0\0".into()));
        assert_eq!(set(user, "/f", 0), Err(Errno::ACCESS));
        assert_eq!(set(root, "/", 0), Err(Errno::ISDIR));
        assert_eq!(set(root, "/f", u64::MAX), Err(Errno::INVAL));
        let file = root.open("/f", OpenFlags { read: true, ..OpenFlags::WRITE }).unwrap();
        file.set_size(&root.caller, 1 << 30).unwrap();
        file.write_at(&root.caller, 1 << 20, b"island").unwrap();
        assert!(root.stat("/f").blocks < 100);
        let next = |what, from| {
            file.seek(&root.caller, SeekTo::Next(what, from)).map_err(|error| error.errno)
        };
        assert_eq!(next(Seek::Hole, 0), Ok(4096));
        assert_eq!(next(Seek::Data, 4096), Ok(1 << 20));
        assert_eq!(next(Seek::Data, (1 << 20) + 4096), Err(Errno::NXIO));
        assert_eq!(next(Seek::Hole, 1 << 30), Err(Errno::NXIO));
        file.allocate(&root.caller, Allocate::PunchHole, 1 << 20, 4096).unwrap();
        assert_eq!(next(Seek::Data, 4096), Err(Errno::NXIO));
        let mut bytes = [7; 6];
        file.read_at(1 << 20, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 6]);
    });
}

/// A18: unlink; what is open stays usable.
#[test]
fn unlink() {
    each(|root, user| {
        root.put("/f", "kept").unwrap();
        let file = root.open("/f", OpenFlags { read: true, ..OpenFlags::WRITE }).unwrap();
        assert_eq!(user.unlink("/f"), Err(Errno::ACCESS));
        assert_eq!(root.unlink("/f/"), Err(Errno::NOTDIR));
        assert_eq!(root.unlink("/"), Err(Errno::ISDIR));
        root.unlink("/f").unwrap();
        assert_eq!(root.unlink("/f"), Err(Errno::NOENT));
        file.write_at(&root.caller, 4, b" on").unwrap();
        let mut text = [0; 7];
        file.read_at(0, &mut text).unwrap();
        assert_eq!(&text, b"kept on");
        assert_eq!(file.attributes(&root.caller).unwrap().links, 0);
        root.put("/f", "another").unwrap();
        file.read_at(0, &mut text).unwrap();
        assert_eq!(&text, b"kept on");
    });
}

/// A18: times, before 1970 too, to the nanosecond.
#[test]
fn utimensat() {
    each(|root, user| {
        root.mkdir("/d", 0o777).unwrap();
        user.put("/d/f", "x").unwrap();
        user.chmod("/d/f", 0o666).unwrap();
        let other = Shell::new(root.files, 1001);
        let set = |shell: &Shell<'_>, accessed, modified| {
            let times = Times { accessed, modified };
            let done = shell.files.set_times(&shell.caller, At::Root, b"/d/f", Follow::Yes, times);
            done.map_err(|error| error.errno)
        };
        let old = Timestamp { seconds: -1_000_000_000, nanoseconds: 123_456_789 };
        let new = Timestamp { seconds: 5_000_000_000, nanoseconds: 1 };
        set(user, Some(NewTime::At(old)), Some(NewTime::At(new))).unwrap();
        let found = root.stat("/d/f");
        assert_eq!((found.accessed, found.modified), (old, new));
        assert_eq!(set(&other, Some(NewTime::At(old)), None), Err(Errno::PERM));
        // Who may write to it may touch it.
        set(&other, Some(NewTime::Now), Some(NewTime::Now)).unwrap();
        set(user, None, Some(NewTime::At(old))).unwrap();
        user.chmod("/d/f", 0o600).unwrap();
        assert_eq!(set(&other, Some(NewTime::Now), Some(NewTime::Now)), Err(Errno::ACCESS));
        assert_eq!(root.stat("/d/f").modified, old);
        let wrong = Timestamp { nanoseconds: 1_000_000_000, ..old };
        assert_eq!(set(user, Some(NewTime::At(wrong)), None), Err(Errno::INVAL));
    });
}

/// A18: extended attributes.
#[test]
fn xattr() {
    each(|root, user| {
        root.mkdir("/d", 0o777).unwrap();
        user.put("/d/f", "x").unwrap();
        let set = |shell: &Shell<'_>, name: &str, value: &[u8], how| {
            let target = (At::Root, &b"/d/f"[..], Follow::Yes);
            let done = shell.files.set_xattr(&shell.caller, target, (name.as_bytes(), value), how);
            done.map_err(|error| error.errno)
        };
        let get = |shell: &Shell<'_>, name: &str| {
            let found =
                shell.files.xattr(&shell.caller, At::Root, b"/d/f", Follow::Yes, name.as_bytes());
            found.map_err(|error| error.errno)
        };
        set(user, "user.a", b"one", SetXattr::Create).unwrap();
        assert_eq!(set(user, "user.a", b"two", SetXattr::Create), Err(Errno::EXIST));
        assert_eq!(set(user, "user.b", b"two", SetXattr::Replace), Err(Errno::NODATA));
        set(user, "user.a", b"two", SetXattr::Replace).unwrap();
        assert_eq!(get(user, "user.a"), Ok(b"two".to_vec()));
        assert_eq!(get(user, "user.b"), Err(Errno::NODATA));
        assert_eq!(set(user, "trusted.a", b"x", SetXattr::Any), Err(Errno::PERM));
        let other = Shell::new(root.files, 1001);
        assert_eq!(set(&other, "user.a", b"x", SetXattr::Any), Err(Errno::ACCESS));
        assert_eq!(set(user, &"user.".repeat(60), b"x", SetXattr::Any), Err(Errno::RANGE));
        assert_eq!(set(user, "user.c", &[0; 65537], SetXattr::Any), Err(Errno::TOOBIG));
        set(root, "trusted.a", b"x", SetXattr::Any).unwrap();
        let names = |shell: &Shell<'_>| {
            shell.files.xattrs(&shell.caller, At::Root, b"/d/f", Follow::Yes).unwrap().len()
        };
        assert_eq!((names(root), names(user)), (2, 1));
        let removed =
            user.files.remove_xattr(&user.caller, At::Root, b"/d/f", Follow::Yes, b"user.a");
        removed.unwrap();
        assert_eq!(get(user, "user.a"), Err(Errno::NODATA));
    });
}

/// A18: a listing shows once what is there all the while, whatever is made and removed meanwhile.
#[test]
fn readdir_is_stable() {
    each(|root, _| {
        root.mkdir("/d", 0o755).unwrap();
        for number in 0..500 {
            root.put(&format!("/d/{number}"), "").unwrap();
        }
        let directory = root.open("/d", OpenFlags::READ).unwrap();
        let mut seen = std::collections::HashMap::new();
        let mut round = 0;
        loop {
            let mut count = 0;
            directory
                .list(|listed| {
                    if count == 50 {
                        return false;
                    }
                    count += 1;
                    *seen.entry(listed.name.to_vec()).or_insert(0) += 1;
                    true
                })
                .unwrap();
            if count == 0 {
                break;
            }
            // The odd ones go, others come.
            if round < 20 {
                root.unlink(&format!("/d/{}", 2 * round + 1)).unwrap();
                root.put(&format!("/d/new{round}"), "").unwrap();
            }
            round += 1;
            assert!(round < 100, "it has an end");
        }
        for number in (0..500).step_by(2) {
            assert_eq!(seen.get(format!("{number}").as_bytes()), Some(&1), "{number}");
        }
        assert!(seen.values().all(|count| *count == 1));
        assert_eq!(seen.get(&b".."[..]), Some(&1));
    });
}

/// A18: statfs knows what is taken.
#[test]
fn statfs() {
    each(|root, _| {
        let before = root.files.space(&root.caller, At::Root, b"/").unwrap();
        root.put("/f", &"x".repeat(1 << 20)).unwrap();
        let after = root.files.space(&root.caller, At::Root, b"/f").unwrap();
        assert_eq!(after.longest_name, 255);
        assert!(before.blocks >= before.free_blocks && after.free_inodes <= after.inodes);
        if before.blocks < 1 << 20 {
            assert_eq!(before.free_blocks - after.free_blocks, 256);
        }
    });
}
