//! The kernel's upper layer as ours: random operations on it and on a layer in memory, above the same files, come to the
//! same, also when it is opened anew. That the kernel understands it is shown where overlays are mounted.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use vfs::{
    At, Caller, Engine, Existing, FileSystem, Follow, HostMode, Kind, Layer, Limits, Memory,
    Overlay, Replace,
};

fn caller() -> Caller {
    Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&caller(), 0o755, Limits::default()))
}

/// What both views lie above.
fn below() -> Arc<dyn Engine> {
    let engine = memory();
    let files = FileSystem::new(Arc::clone(&engine), &Limits::default());
    for directory in NAMES {
        for name in NAMES {
            let path = format!("/{directory}/{name}/deep");
            files.make_directories(&caller(), path.as_bytes()).unwrap();
            files.write_file(&caller(), format!("{path}/f").as_bytes(), b"below").unwrap();
        }
        files.write_file(&caller(), format!("/{directory}/f").as_bytes(), b"below").unwrap();
    }
    engine
}

fn above(lower: &Arc<dyn Engine>, upper: Arc<dyn Engine>) -> FileSystem {
    let limits = Limits::default();
    let overlay = Overlay::new(vec![Arc::clone(lower)], upper, &limits).unwrap();
    FileSystem::new(Arc::new(overlay), &limits)
}

fn layer(place: &std::path::Path, mode: HostMode) -> Arc<dyn Engine> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place, flags, Mode::empty()).unwrap();
    Arc::new(Layer::new(directory, mode, &Limits::default()).unwrap())
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
    for seed in 0..12_u64 {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("upper")).unwrap();
        let lower = below();
        let ours = above(&lower, memory());
        let mut kernels = above(&lower, layer(place.path(), HostMode::Writable));
        for step in 0..150 {
            let number = seed * 1_000_003 + step;
            assert_eq!(operate(&kernels, number), operate(&ours, number), "{seed} {step}");
            if step % 50 == 49 {
                assert_eq!(seen(&kernels), seen(&ours), "{seed} {step}");
                let again = layer(place.path(), HostMode::Writable);
                drop(std::mem::replace(&mut kernels, above(&lower, again)));
                assert_eq!(seen(&kernels), seen(&ours), "{seed} {step}, anew");
            }
        }
        let looking = above(&lower, layer(place.path(), HostMode::ReadOnly));
        assert_eq!(seen(&looking), seen(&ours), "{seed}, for reading");
        assert!(looking.write_file(&caller(), b"/new", b"").is_err());
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
