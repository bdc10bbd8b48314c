//! Trees that a program made to harm whoever copies them: a store's file with paths for names, files that are one hole, and
//! links in a project where a file is expected.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::time::Instant;

use files::{Address, Copied, Existing, FilesError, Links, Local, Purpose, Tree, Wishes, copy};
use plan::HostPath;

const WISHES: Wishes = Wishes { recursive: true, existing: Existing::Kept, links: Links::Refused };

fn open(text: &str, purpose: Purpose) -> Tree {
    let state = HostPath::new(std::env::temp_dir().into_os_string()).unwrap();
    Tree::open(&Address::parse(text.as_ref()).unwrap(), &state, purpose).unwrap()
}

fn get(tree: &Tree, to: &Path) -> Result<Copied, FilesError> {
    let to = Local::destination(to).unwrap();
    copy((tree, b"/"), (&to.tree, &to.path), &WISHES, &mut |_| {})
}

/// A9, T80: names that somebody wrote into a store's file lead no copy out of its destination, and are shown as they are.
#[test]
fn a_forged_store_leads_no_copy_out() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let evil = b"../../hooks/x";
    let plain = b"PLACE_OF_NAME";
    let store = at("store");
    let text = format!("store:{}", store.display());
    store::Store::create(&store, &vfs::Caller::of(0, 0), 0o755).unwrap();
    let tree = open(&text, Purpose::Write);
    tree.write_from(plain, &mut &b"text"[..], Existing::Kept).unwrap();
    tree.finish().unwrap();
    drop(tree);
    let mut bytes = fs::read(&store).unwrap();
    let found: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(plain)))
        .collect();
    assert!(!found.is_empty());
    for at in found {
        bytes.get_mut(at..at + evil.len()).unwrap().copy_from_slice(evil);
    }
    fs::write(&store, bytes).unwrap();
    fs::create_dir_all(at("project/sub")).unwrap();
    fs::create_dir_all(at("hooks")).unwrap();
    fs::create_dir_all(at("project/hooks")).unwrap();
    let tree = open(&text, Purpose::Read);
    let refused = get(&tree, &at("project/sub/copied")).unwrap_err();
    assert!(refused.to_string().contains("`../../hooks/x`, which is none"), "{refused}");
    assert!(tree.list(b"", usize::MAX).is_err());
    assert_eq!(fs::read_dir(at("hooks")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(at("project/hooks")).unwrap().count(), 0);
}

/// A9, A21, T81: a hole that a program made costs no disk and no time in a copy, into a store or out of it.
#[test]
fn holes_stay_holes() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("from")).unwrap();
    let hole = fs::File::create(at("from/hole")).unwrap();
    std::os::unix::fs::FileExt::write_at(&hole, b"middle", 1 << 40).unwrap();
    hole.set_len(4 << 40).unwrap();
    fs::File::create(at("from/empty")).unwrap().set_len(4 << 40).unwrap();
    fs::write(at("from/zeros"), vec![0; 1 << 20]).unwrap();
    fs::write(at("from/plain"), vec![5; 700_001]).unwrap();
    store::Store::create(&at("store"), &vfs::Caller::of(0, 0), 0o755).unwrap();
    let begun = Instant::now();
    let tree = open(&format!("store:{}:/", at("store").display()), Purpose::Write);
    let from = Local::source(&at("from")).unwrap();
    let copied = copy((&from.tree, &from.path), (&tree, b"/"), &WISHES, &mut |_| {}).unwrap();
    assert_eq!(copied.bytes, (8 << 40) + (1 << 20) + 700_001);
    get(&tree, &at("back")).unwrap();
    assert!(begun.elapsed() < testing::slowly(std::time::Duration::from_secs(10)));
    for (name, length) in
        [("hole", 4 << 40), ("empty", 4 << 40), ("zeros", 1 << 20), ("plain", 700_001)]
    {
        let found = fs::metadata(at("back/from").join(name)).unwrap();
        assert_eq!(found.len(), length, "{name}");
        assert!(found.blocks() < 4096, "{name}: {}", found.blocks());
    }
    let back = fs::File::open(at("back/from/hole")).unwrap();
    let mut middle = [0; 8];
    std::os::unix::fs::FileExt::read_exact_at(&back, &mut middle, 1 << 40).unwrap();
    assert_eq!(&middle, b"middle\0\0");
    assert_eq!(fs::read(at("back/from/plain")).unwrap(), vec![5; 700_001]);
}

/// A9: a link that is named is not followed: whoever made the project may have put it in a file's place.
#[test]
fn a_link_that_is_named_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("real/d")).unwrap();
    fs::write(at("real/secret"), "secret").unwrap();
    symlink(at("real/secret"), at("file")).unwrap();
    symlink(at("real"), at("whole")).unwrap();
    for link in ["file", "whole", "whole/"] {
        let refused = Local::source(&at(link)).unwrap_err();
        assert!(refused.to_string().contains("is a link to"), "{refused}");
    }
    // Directories above it are the user's own word.
    for fine in ["whole/secret", "real/.", "real/d/..", "real"] {
        Local::source(&at(fine)).unwrap();
    }
}
