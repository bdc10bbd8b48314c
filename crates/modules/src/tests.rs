//! What is kept is found as it was kept, whole, and within bounds.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use plan::HostPath;
use state::Directory;

use super::{Bounds, Shelf, key};

fn shelf(place: &Path) -> Shelf {
    let state = HostPath::new(place.join("state").into_os_string()).unwrap();
    Shelf::open(&Directory::open(&state).unwrap(), &place.join("cache")).unwrap()
}

fn count(directory: &Path) -> usize {
    let files = std::fs::read_dir(directory).unwrap();
    files.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file()).count()
}

/// A25: code is found again with its digest, and code without its note is not there.
#[test]
fn code_is_found_again() {
    let place = tempfile::tempdir().unwrap();
    let shelf = shelf(place.path());
    assert_eq!(shelf.find("one"), None);
    let kept = shelf.keep("one", b"code").unwrap();
    assert_eq!(kept.1, "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b");
    assert_eq!(shelf.find("one"), Some(kept.clone()));
    assert_eq!(std::fs::read(&kept.0).unwrap(), b"code");
    // Whoever may write to the cache cannot write the note.
    std::fs::write(place.path().join("cache/two"), "other").unwrap();
    assert_eq!(shelf.find("two"), None);
    std::fs::write(&kept.0, "changed").unwrap();
    assert_eq!(shelf.find("one").unwrap().1, kept.1);
    std::fs::remove_file(&kept.0).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &kept.0).unwrap();
    assert_eq!(shelf.find("one"), None);
}

/// A25: what was used least lately goes first.
#[test]
fn what_is_kept_is_bounded() {
    let place = tempfile::tempdir().unwrap();
    let shelf = shelf(place.path()).within(Bounds { bytes: 100, modules: 3 });
    let wait = || std::thread::sleep(std::time::Duration::from_millis(15));
    for name in ["one", "two", "three"] {
        shelf.keep(name, &[0; 20]).unwrap();
        wait();
    }
    shelf.find("one").unwrap();
    wait();
    shelf.keep("four", &[0; 20]).unwrap();
    assert_eq!(shelf.find("two"), None, "it was used least lately");
    assert!(["one", "three", "four"].iter().all(|name| shelf.find(name).is_some()));
    shelf.keep("large", &[0; 90]).unwrap();
    let left = count(&place.path().join("cache"));
    assert_eq!((left, count(&place.path().join("state/modules"))), (1, 1));
    assert!(shelf.keep("huge", &[0; 101]).is_err());
    assert!(shelf.find("large").is_some());
}

/// A25: another module or another engine is another key.
#[test]
fn keys_tell_engines_and_modules_apart() {
    let place = tempfile::tempdir().unwrap();
    let engine = place.path().join("engine");
    std::fs::write(&engine, "engine").unwrap();
    let first = key("a", &engine).unwrap();
    assert_eq!(key("a", &engine).unwrap(), first);
    assert_ne!(key("b", &engine).unwrap(), first);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    std::fs::File::open(&engine).unwrap().set_modified(later).unwrap();
    assert_ne!(key("a", &engine).unwrap(), first);
    assert_eq!(key("a", &place.path().join("missing")), None);
}
