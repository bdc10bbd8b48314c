//! Pointer files of repositories, honest and not. Starts no Git.

use super::*;

fn check(pointer: &[u8], shared: Option<&[u8]>) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(top.join("store/tree")).unwrap();
    std::fs::create_dir(top.join("work")).unwrap();
    std::fs::write(top.join("work/.git"), pointer).unwrap();
    if let Some(shared) = shared {
        std::fs::write(top.join("store/tree/commondir"), shared).unwrap();
    }
    let path = HostPath::new(top.join("work/.git").into_os_string()).unwrap();
    let relative = |found: &HostPath| {
        let below = found.as_path().strip_prefix(&top);
        below.map_or(found.to_string(), |path| path.display().to_string())
    };
    pointed_to(&path).iter().map(relative).collect()
}

/// T6, T7
#[test]
fn pointers_are_read_within_bounds() {
    let large = [b"gitdir: ".as_slice(), &vec![b'x'; 2_000_000]].concat();
    let none: [String; 0] = [];
    assert_eq!(check(b"gitdir: ../store/tree\n", None), ["store/tree"]);
    assert_eq!(check(b"gitdir: ../store/tree", Some(b"..\n")), ["store/tree", "store"]);
    assert_eq!(check(b"gitdir: /tmp/evil\n", None), ["/tmp/evil"]);
    assert_eq!(check(b"gitdir: ../../../../../../../../etc\n", None), ["/etc"]);
    assert_eq!(check(b"gitdir:\n", None), none);
    assert_eq!(check(b"", None), none);
    assert_eq!(check(b"something else", None), none);
    assert_eq!(check(b"gitdir: a\0b", None), none);
    assert_eq!(check(&large, None), none);
}
