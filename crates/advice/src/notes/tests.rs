//! Tests of what is looked up for a note.

use std::fs;
use std::path::Path;

use super::linked_worktree;

/// A worktree whose repository does not know it is none.
#[test]
fn a_worktree_and_its_repository_name_each_other() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let own_data = root.join("repository/.git/worktrees/linked");
    let deep = root.join("linked/src/deep");
    fs::create_dir_all(&own_data).unwrap();
    fs::create_dir_all(&deep).unwrap();
    fs::write(own_data.join("commondir"), "../..\n").unwrap();
    let link = root.join("linked/.git");
    let absolute = format!("gitdir: {}\n", own_data.display());
    let table = [
        (absolute.as_str(), link.as_path(), true),
        (
            "gitdir: ../repository/.git/worktrees/linked\n",
            Path::new("../../../../linked/.git"),
            true,
        ),
        (absolute.as_str(), Path::new("/elsewhere/.git"), false),
        ("gitdir: /etc\n", link.as_path(), false),
        ("gitdir: \n", link.as_path(), false),
        ("nonsense", link.as_path(), false),
    ];
    for (text, back, expected) in table {
        fs::write(&link, text).unwrap();
        fs::write(own_data.join("gitdir"), format!("{}\n", back.display())).unwrap();
        let found = linked_worktree(&deep).map(|worktree| worktree.repository);
        assert_eq!(found, expected.then(|| root.join("repository/.git")), "{text:?} {back:?}");
    }
    // A repository of its own is nearer.
    fs::create_dir(root.join("linked/src/.git")).unwrap();
    fs::write(&link, &absolute).unwrap();
    assert_eq!(linked_worktree(&deep), None);
}
