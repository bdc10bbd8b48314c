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
    pointed_to(&path, &mut Reader::new(usize::MAX)).iter().map(relative).collect()
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

/// K227, T6, T7: what a configuration names, from where it is named, and no further than allowed.
#[test]
fn names_are_collected_over_included_files() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let write = |path: &str, text: &str| {
        std::fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
        std::fs::write(top.join(path), text).unwrap();
    };
    let host = |path: &str| HostPath::new(top.join(path).into_os_string()).unwrap();
    write(
        "p/.git/config",
        "[include]\npath = ../a.conf\npath = /outside\npath = ~/b\n[core]\nhooksPath = h\n",
    );
    write("p/a.conf", "[include]\npath = a.conf\n[gpg]\nprogram = ./sign\n[core]\nworktree = ../w");
    write("home/b", "[core]\nfsmonitor = not/read\n");
    let real = |path: &HostPath| path.is_within(&host("p")).then(|| path.clone());
    let found = named_by(
        &host("p/.git/config"),
        None,
        Some(&host("home")),
        &real,
        &mut Reader::new(usize::MAX),
    );
    let mut lines: Vec<String> = found
        .iter()
        .map(|named| {
            let below = named.path.as_path().strip_prefix(&top);
            let path = below.unwrap_or(named.path.as_path()).display();
            format!("{:?} {path}", named.role)
        })
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "Configuration /outside",
            "Configuration home/b",
            "Configuration p/a.conf",
            "Hooks p/.git/h",
            "Hooks p/h",
            "Hooks p/w/h",
            "Program p/.git/sign",
            "Program p/sign",
            "Program p/w/sign",
        ]
    );
}

/// T7: what is no small file ends nothing and is not waited for.
#[test]
fn configuration_is_read_within_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let host = |path: &str| HostPath::new(top.join(path).into_os_string()).unwrap();
    let real = |path: &HostPath| Some(path.clone());
    let check =
        |path: &str| named_by(&host(path), None, None, &real, &mut Reader::new(usize::MAX)).len();
    let padding = "#\n".repeat(400_000);
    std::fs::write(top.join("long"), format!("{padding}[core]\nhooksPath = x\n")).unwrap();
    std::fs::write(top.join("longer"), format!("{padding}{padding}[core]\nhooksPath = x\n"))
        .unwrap();
    let fifo = host("fifo");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, fifo.as_path(), kind, mode, 0).unwrap();
    let chain: String = (0..1000).map(|number| format!("path = {number}\n")).collect();
    std::fs::write(top.join("many"), format!("[include]\n{chain}")).unwrap();
    std::os::unix::fs::symlink("long", top.join("link")).unwrap();
    for (path, expected) in
        [("long", 1), ("longer", 0), ("fifo", 0), ("missing", 0), ("link", 0), ("many", MOST_PATHS)]
    {
        assert_eq!(check(path), expected, "{path}");
    }
}
