//! The walk's reading of the table against the table's own. Touches no file.

use super::*;

/// The entry that a walk along a path comes to.
fn walk(path: &[u8], object: Object) -> Option<&'static Entry> {
    ProtectedNames::shared().covering(path, object)
}

/// T5, T6: a walk finds what the table's own function finds, neither more nor less.
#[test]
fn a_walk_agrees_with_the_table() {
    let pieces = [
        ".git",
        ".GIT",
        "hooks",
        "config",
        "modules",
        "worktrees",
        "a",
        ".config",
        "git",
        "x.code-workspace",
    ];
    let mut paths = Vec::new();
    for first in pieces {
        paths.push(first.to_owned());
        for second in pieces {
            paths.push(format!("{first}/{second}"));
            for third in pieces {
                paths.push(format!("{first}/{second}/{third}"));
                paths.push(format!(".git/modules/{first}/{second}/{third}"));
            }
        }
    }
    for path in &paths {
        for object in [Object::File, Object::Directory] {
            let expected = policy::protected::matches(path.as_bytes(), object);
            let found = walk(path.as_bytes(), object);
            assert_eq!(found.is_some(), expected.is_some(), "{path} {object:?}");
        }
    }
}

#[test]
fn every_entry_without_wildcards_is_found_at_any_depth() {
    for entry in table() {
        let Some(path) = entry.probe_path() else { continue };
        for above in ["", "a/", "a/b/c/"] {
            let path = format!("{above}{path}");
            assert!(walk(path.as_bytes(), Object::File).is_some(), "{path}");
        }
    }
}

/// A grant in the middle of a pattern continues it.
#[test]
fn a_directory_knows_what_began_above_it() {
    let names = ProtectedNames::shared();
    let table: [(&str, &[u8], bool); 6] = [
        ("/srv/project/.git", b"hooks", true),
        ("/srv/project/.git/modules/library", b"config", true),
        ("/srv/project/.git/modules/group/library", b"hooks", true),
        ("/home/user/.config", b"fish", true),
        ("/srv/project", b"hooks", false),
        ("/srv/project/.git/refs", b"hooks", false),
    ];
    for (directory, name, expected) in table {
        let begun = names.begun_at(&HostPath::new(directory).unwrap());
        let step = names.step(&begun, name, Object::Directory);
        assert_eq!(step.entry.is_some(), expected, "{directory}");
    }
}

#[test]
fn names_that_are_not_text_are_just_names() {
    let names = ProtectedNames::shared();
    for name in [b"\xff\xfe".as_slice(), b".gi\nt", b"", b"[.]git", b"\\.git", b".envrc\n"] {
        let step = names.step(&Begun::default(), name, Object::File);
        assert!(step.entry.is_none() && step.below.is_empty());
    }
}
