//! What an apply holds although no name says so.

use std::os::unix::fs::{MetadataExt as _, symlink};

use super::support::{Fixture, paths};
use crate::{Guarded, Selection, TreePath};

/// Everything is applied that needs no word; returns what was held.
fn held(fixture: &Fixture, guarded: Guarded) -> Vec<TreePath> {
    let workspace = fixture.workspace().with_guarded(guarded);
    let changes = workspace.changes().unwrap();
    workspace.apply(&changes, &crate::Request::of(Selection::All)).unwrap().held
}

/// T12, T67: a link where a directory with names that run code would be.
#[test]
fn a_link_in_place_of_a_directory_is_held() {
    let fixture = Fixture::new();
    fixture.host(&[("x", "x")]).start();
    fixture.cage(
        "mkdir ca sub .git; echo x > ca/config.toml; ln -s ca .cargo; ln -s ../ca sub/.config; \
         ln -s ../ca .git/rebase-merge; ln -s ca ordinary",
    );
    let expected = [".cargo", ".git/rebase-merge", "sub/.config"];
    assert_eq!(held(&fixture, Guarded::default()), paths(&expected));
    assert!(fixture.host.join("ordinary").is_symlink());
}

/// T12, T67: what the host leads to, and what stands above it.
#[test]
fn what_the_host_leads_to_is_held() {
    let fixture = Fixture::new();
    fixture.host(&[("hk/pre-commit", "x"), ("tools/mon.sh", "x"), ("ide/a", "x"), ("own", "x")]);
    fixture.start();
    fixture.cage(
        "echo y >> hk/pre-commit; echo y > hk/post-checkout; mkdir t; mv tools/mon.sh t; rmdir tools; \
         ln -s t tools; echo y > ide/a; echo y > own; echo y > free",
    );
    let inode = std::fs::metadata(fixture.host.join("own")).unwrap();
    let guarded = Guarded {
        paths: paths(&["hk", "tools/mon.sh"]).into_iter().collect(),
        program: Some((inode.dev(), inode.ino())),
    };
    let found = held(&fixture, guarded);
    for path in ["hk/post-checkout", "hk/pre-commit", "own", "tools"] {
        assert!(found.contains(&TreePath::parse(path.as_bytes()).unwrap()), "{path}: {found:?}");
    }
    assert_eq!(std::fs::read_to_string(fixture.host.join("ide/a")).unwrap(), "y\n");
    assert!(fixture.host.join("free").exists() && !fixture.host.join("hk/post-checkout").exists());
}

/// T12, T67: whatever makes a repository of a directory, in one step or in two.
#[test]
fn what_completes_a_repository_is_held() {
    let fixture = Fixture::new();
    fixture.host(&[("s1/config", "x"), ("s1/objects/a", "x"), ("s1/refs/a", "x")]);
    fixture.host(&[("s2/config", "x"), ("s2/objects/a", "x"), ("s2/HEAD", "x"), ("old/HEAD", "x")]);
    fixture.host(&[("old/objects/a", "x"), ("old/refs/a", "x")]);
    symlink("nowhere", fixture.host.join("s2/link")).unwrap();
    fixture.start();
    fixture.cage(
        "echo x > s1/HEAD; mkdir s2/refs; echo y > old/HEAD; echo x > HEAD; \
         mkdir -p new/objects new/refs; ln -s ../x new/HEAD",
    );
    let found = held(&fixture, Guarded::default());
    assert_eq!(found, paths(&["new/HEAD", "s1/HEAD", "s2/refs"]));
}
