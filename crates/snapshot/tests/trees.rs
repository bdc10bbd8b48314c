//! Trees go from place to place and stay the same; archives are those of other programs; hostile ones are refused.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use snapshot::{Bounds, Contents, Item, Library, Sink, SnapshotError, from_archive, read_host};

/// Everything that came, with contents.
#[derive(Default)]
struct Collected(Vec<(Item, Vec<u8>)>);

impl Sink for Collected {
    fn put(&mut self, item: &Item, contents: &mut dyn Contents) -> Result<(), SnapshotError> {
        let mut bytes = Vec::new();
        contents.read_to_end(&mut bytes).unwrap();
        self.0.push((item.clone(), bytes));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SnapshotError> {
        self.0.sort_by(|one, other| one.0.path.cmp(&other.0.path));
        Ok(())
    }
}

fn opened(path: &Path) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

fn found(path: &Path) -> Vec<(Item, Vec<u8>)> {
    let mut all = Collected::default();
    read_host(opened(path), &|_| false, &mut all).unwrap();
    all.0
}

/// As it comes from an archive.
fn without_set_id(mut all: Vec<(Item, Vec<u8>)>) -> Vec<(Item, Vec<u8>)> {
    all.iter_mut().for_each(|(item, _)| item.mode &= 0o1777);
    all
}

/// One of everything.
fn fill(root: &Path) {
    let long = "l".repeat(200);
    std::fs::create_dir_all(root.join("d/empty")).unwrap();
    std::fs::create_dir_all(root.join(&long)).unwrap();
    std::fs::write(root.join(&long).join("in a long path"), "x").unwrap();
    std::fs::write(root.join("d/file"), "text").unwrap();
    std::fs::write(root.join("d/odd length"), vec![3; 70_001]).unwrap();
    std::fs::hard_link(root.join("d/file"), root.join("d/second name")).unwrap();
    symlink("../outside", root.join("d/link")).unwrap();
    symlink("t".repeat(300), root.join("d/long link")).unwrap();
    let sparse = std::fs::File::create(root.join("sparse")).unwrap();
    std::os::unix::fs::FileExt::write_at(&sparse, b"end", 3 << 20).unwrap();
    std::fs::set_permissions(root.join("d/file"), PermissionsExt::from_mode(0o4751)).unwrap();
    std::fs::set_permissions(root.join("d/empty"), PermissionsExt::from_mode(0o2750)).unwrap();
    rustix::fs::mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff\xfe");
    std::fs::write(root.join(name), "not text").unwrap();
    let value = b"a \0 value\n";
    for at in ["d/file", "d"] {
        rustix::fs::setxattr(root.join(at), "user.a", value, rustix::fs::XattrFlags::empty())
            .unwrap();
    }
    let time =
        |seconds, nanoseconds| rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    for (at, time) in
        [("d/file", time(-5, 7)), ("d", time(1_000_000_000, 123_456_789)), ("sparse", time(0, 0))]
    {
        let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, root.join(at), &times, AtFlags::empty()).unwrap();
    }
}

/// A16: a directory that is saved and restored is as it was, and so is one that went through an archive.
#[test]
fn trees_stay_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["from", "to", "imported"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    fill(&at("from"));
    // What a layer of overlayfs has for a name that is gone; older kernels want root for it.
    let node =
        rustix::fs::mknodat(CWD, at("from/gone"), FileType::CharacterDevice, Mode::empty(), 0);
    let library = Library::open(&at("library")).unwrap();
    library.save_directory("one", opened(&at("from")), &|_| false).unwrap();
    library.restore_directory("one", opened(&at("to"))).unwrap();
    let expected = found(&at("from"));
    assert_eq!(expected.len(), if node.is_ok() { 14 } else { 13 });
    assert_eq!(found(&at("to")), expected);
    assert!(at("to/sparse").metadata().unwrap().blocks() < 1000);
    assert_eq!(
        at("to/d/file").metadata().unwrap().ino(),
        at("to/d/second name").metadata().unwrap().ino()
    );
    let mut archive = Vec::new();
    library.export("one", &mut archive).unwrap();
    library.import("two", &mut &archive[..], &Bounds::default()).unwrap();
    library.restore_directory("two", opened(&at("imported"))).unwrap();
    assert_eq!(found(&at("imported")), without_set_id(expected));
    let (mut again, mut third) = (Vec::new(), Vec::new());
    library.export("two", &mut again).unwrap();
    library.import("three", &mut &again[..], &Bounds::default()).unwrap();
    library.export("three", &mut third).unwrap();
    assert!(again == third);
    library.remove("three").unwrap();
    let names: Vec<_> = library.list().unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, [b"one", b"two"]);
    library.remove("one").unwrap();
    let mut library = library;
    assert_eq!(library.store().check().unwrap(), Vec::<String>::new());
}

/// A16: archives go to GNU tar and come from it, in each of its formats.
#[test]
fn archives_are_those_of_others() {
    if !testing::has("tar") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("from")).unwrap();
    fill(&at("from"));
    let library = Library::open(&at("library")).unwrap();
    library.save_directory("one", opened(&at("from")), &|_| false).unwrap();
    library.export("one", &mut std::fs::File::create(at("ours.tar")).unwrap()).unwrap();
    std::fs::create_dir(at("by tar")).unwrap();
    let tar = |words: &[&str]| {
        let status = Command::new("tar").args(words).current_dir(directory.path()).status();
        assert!(status.unwrap().success(), "{words:?}");
    };
    tar(&["--xattrs", "-xpf", "ours.tar", "-C", "by tar"]);
    assert_eq!(found(&at("by tar")), found(&at("from")));
    for (format, has_all) in [("pax", true), ("gnu", false)] {
        let file = format!("{format}.tar");
        let xattrs = if has_all { "--xattrs" } else { "--no-xattrs" };
        tar(&[xattrs, "--format", format, "-cf", &file, "-C", "from", "."]);
        library
            .import(format, &mut std::fs::File::open(at(&file)).unwrap(), &Bounds::default())
            .unwrap();
        std::fs::create_dir(at(format)).unwrap();
        library.restore_directory(format, opened(&at(format))).unwrap();
        let mut expected = without_set_id(found(&at("from")));
        let mut there = found(&at(format));
        if !has_all {
            // This format knows of whole seconds and no attributes.
            for (item, _) in expected.iter_mut().chain(&mut there) {
                item.modified.nanoseconds = 0;
                item.xattrs.clear();
            }
        }
        assert_eq!(there, expected, "{format}");
    }
}

/// A16, A21, T81: a hole of a file is saved and restored as one, at once.
#[test]
fn holes_cost_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["from", "to"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    let hole = std::fs::File::create(at("from/hole")).unwrap();
    std::os::unix::fs::FileExt::write_at(&hole, b"middle", 1 << 40).unwrap();
    hole.set_len(4 << 40).unwrap();
    let begun = std::time::Instant::now();
    let library = Library::open(&at("library")).unwrap();
    library.save_directory("one", opened(&at("from")), &|_| false).unwrap();
    library.restore_directory("one", opened(&at("to"))).unwrap();
    assert!(begun.elapsed() < testing::slowly(std::time::Duration::from_secs(10)));
    let there = at("to/hole").metadata().unwrap();
    assert_eq!(there.len(), 4 << 40);
    assert!(there.blocks() < 4096, "{}", there.blocks());
    let mut middle = [0; 6];
    let file = std::fs::File::open(at("to/hole")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut middle, 1 << 40).unwrap();
    assert_eq!(&middle, b"middle");
    // As bytes it is more than an archive is taken with.
    let refused = library.export("one", &mut std::io::sink()).unwrap_err();
    assert!(matches!(refused, SnapshotError::TooMuch { what: "bytes", .. }), "{refused}");
}

/// A header with a right sum.
fn header(name: &[u8], kind: u8, link: &[u8], size: u64) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name);
    for (at, text) in [(100, "0000644\0"), (108, "0000000\0"), (116, "0000000\0")] {
        block[at..at + 8].copy_from_slice(text.as_bytes());
    }
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[148..156].fill(b' ');
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link);
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[329..337].copy_from_slice(b"0000001\0");
    block[337..345].copy_from_slice(b"0000003\0");
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn read(archive: &[u8], bounds: &Bounds) -> Result<Collected, SnapshotError> {
    let mut all = Collected::default();
    from_archive(&mut &archive[..], bounds, &mut all).map(|()| all)
}

/// A16: what leads out, what is a device, what is too much and what is none.
#[test]
fn hostile_archives_are_refused() {
    let end = vec![0; 1024];
    let one = |name: &[u8], kind, link: &[u8]| [header(name, kind, link, 0), end.clone()].concat();
    let refused = [
        (one(b"../x", b'0', b""), "`../x`, a name with `..`"),
        (one(b"a/../../x", b'0', b""), "a name with `..`"),
        (one(b"/etc/x", b'0', b""), "`/etc/x`, an absolute name"),
        (one(b"x", b'1', b"../y"), "a further name of a file outside"),
        (one(b"x", b'1', b"/y"), "a further name of a file outside"),
        (one(b"x", b'3', b""), "a device"),
        (one(b"x", b'4', b""), "a device"),
        (one(b"./", b'0', b"").replace_kind(b'2'), "a link to nothing"),
        (one(b"x", b'S', b""), "a sparse file"),
        (one(b"x", b'V', b""), "an unknown kind"),
    ];
    for (archive, why) in refused {
        let error = read(&archive, &Bounds::default()).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(why)), "{why}: {error:?}");
    }
    let record = |text: &str| {
        [
            header(b"p", b'x', b"", text.len() as u64),
            text.as_bytes().to_vec(),
            vec![0; 512 - text.len()],
        ]
        .concat()
    };
    let after = [header(b"x", b'0', b"", 0), end.clone()].concat();
    for (text, why) in [
        ("18 path=../../x\n", "not as long as it says"),
        ("16 path=../../x\n", "a name with `..`"),
        ("99999999999999999999 a=b\n", "not as long as it says"),
        ("0 a=b\n", "not as long as it says"),
        ("11 size=-1\n", "has no number"),
    ] {
        let error = read(&[record(text), after.clone()].concat(), &Bounds::default());
        let error = error.err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(why)), "{text}: {error:?}");
    }
    let huge = [header(b"x", b'0', b"", 1 << 32), end.clone()].concat();
    let bounds = Bounds { most_bytes: 1000, most_files: 2 };
    assert!(matches!(read(&huge, &bounds), Err(SnapshotError::TooMuch { most: 1000, .. })));
    let many: Vec<u8> = (0..3).flat_map(|_| header(b"x", b'0', b"", 0)).chain(end).collect();
    assert!(matches!(read(&many, &bounds), Err(SnapshotError::TooMuch { most: 2, .. })));
    for cut in [0, 1, 511, 513] {
        assert!(matches!(
            read(&huge[..cut], &Bounds::default()),
            Err(SnapshotError::Invalid { .. })
        ));
    }
    assert!(read(&[7; 4096], &Bounds::default()).is_err());
}

trait ReplaceKind {
    fn replace_kind(self, kind: u8) -> Self;
}

impl ReplaceKind for Vec<u8> {
    fn replace_kind(self, kind: u8) -> Self {
        [header(b"x", kind, b"", 0), self[512..].to_vec()].concat()
    }
}

/// A16: any bytes are read or refused, without a panic, and what is refused leaves nothing.
#[test]
fn damaged_archives_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from");
    std::fs::create_dir(&from).unwrap();
    fill(&from);
    let library = Library::open(&directory.path().join("library")).unwrap();
    library.save_directory("one", opened(&from), &|_| false).unwrap();
    let mut archive = Vec::new();
    library.export("one", &mut archive).unwrap();
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    for _ in 0..200 {
        let mut damaged = archive[..20_000].to_vec();
        for _ in 0..1 + below(4) {
            let at = below(damaged.len());
            damaged[at] ^= u8::try_from(1 + below(255)).unwrap();
        }
        damaged.truncate(1 + below(20_000));
        let _read = read(&damaged, &Bounds::default());
    }
    let cut = library.import("two", &mut &archive[..20_000], &Bounds::default());
    assert!(matches!(cut, Err(SnapshotError::Invalid { .. })), "{cut:?}");
    assert_eq!(library.list().unwrap().len(), 1);
}
