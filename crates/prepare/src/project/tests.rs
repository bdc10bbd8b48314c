//! Which policy file counts, and which must not. Works in temporary directories only.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;

fn tree() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(top.join("project/deep/er")).unwrap();
    (directory, top)
}

fn reason(project: Result<Project, ProjectError>) -> PolicyFileReason {
    match project {
        Err(ProjectError::File(error)) => error.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_nearest_file_upward_makes_the_project() {
    let (_directory, top) = tree();
    std::fs::write(top.join("stockade.toml"), "outer").unwrap();
    std::fs::write(top.join("project/stockade.toml"), "inner").unwrap();
    let project = Project::find(&top.join("project/deep/er")).unwrap();
    assert_eq!(project.root.as_path(), top.join("project"));
    let file = project.file.unwrap();
    assert_eq!(file.path.as_path(), top.join("project/stockade.toml"));
    assert_eq!(file.text, "inner");
}

#[test]
fn a_chosen_project_does_not_look_upward() {
    let (_directory, top) = tree();
    std::fs::write(top.join("stockade.toml"), "outer").unwrap();
    let project = Project::at(&top, Path::new("project")).unwrap();
    assert_eq!(project.root.as_path(), top.join("project"));
    assert_eq!(project.file, None);
}

#[test]
fn a_project_is_where_it_really_is() {
    let (_directory, top) = tree();
    symlink("project", top.join("link")).unwrap();
    let project = Project::at(&top, Path::new("link")).unwrap();
    assert_eq!(project.root.as_path(), top.join("project"));
}

/// K58
#[test]
fn a_project_that_is_no_directory_is_refused() {
    let (_directory, top) = tree();
    std::fs::write(top.join("file"), "").unwrap();
    symlink("loop", top.join("loop")).unwrap();
    let table = [
        ("missing", "does not exist"),
        ("file", "not a directory"),
        ("file/below", "not a directory"),
        ("loop", "circle"),
    ];
    for (path, expected) in table {
        let error = Project::at(&top, Path::new(path)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = Project::at(&top, Path::new("a\0b")).unwrap_err().to_string();
    assert!(error.contains("NUL") && !error.contains('\0'), "{error}");
}

/// T50, T7: each kind of file that must not be used has its own reason, and none is passed over.
#[test]
fn a_file_that_must_not_be_used_is_an_error() {
    let (_directory, top) = tree();
    std::fs::write(top.join("stockade.toml"), "outer").unwrap();
    std::fs::write(top.join("outside.toml"), "outside").unwrap();
    let project = top.join("project");
    let path = project.join("stockade.toml");
    let check = |expected: PolicyFileReason| {
        assert_eq!(reason(Project::find(&project)), expected);
        assert_eq!(reason(Project::at(&top, &project)), expected);
        if path.is_dir() {
            std::fs::remove_dir(&path).unwrap()
        } else {
            std::fs::remove_file(&path).unwrap()
        }
    };
    std::fs::create_dir(&path).unwrap();
    check(PolicyFileReason::IsADirectory);
    symlink("../outside.toml", &path).unwrap();
    check(PolicyFileReason::LinkLeavesDirectory);
    symlink("/etc/passwd", &path).unwrap();
    check(PolicyFileReason::LinkLeavesDirectory);
    symlink("missing", &path).unwrap();
    check(PolicyFileReason::BrokenLink);
    symlink("stockade.toml", &path).unwrap();
    check(PolicyFileReason::BrokenLink);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RWXU).unwrap();
    check(PolicyFileReason::NotARegularFile);
    let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    check(PolicyFileReason::NotARegularFile);
    drop(socket);
    std::fs::write(&path, vec![b'#'; 1_000_000]).unwrap();
    check(PolicyFileReason::TooLarge { bytes: 1_000_000 });
    std::fs::write(&path, b"version = 1\n# \xff\n").unwrap();
    check(PolicyFileReason::NotText { line: 2 });
    std::fs::write(&path, "version = 1").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    check(PolicyFileReason::WritableByEveryone);
}

#[test]
fn a_link_inside_the_project_is_followed() {
    let (_directory, top) = tree();
    std::fs::write(top.join("project/deep/policy.toml"), "text").unwrap();
    symlink("deep/policy.toml", top.join("project/stockade.toml")).unwrap();
    let project = Project::find(&top.join("project")).unwrap();
    assert_eq!(project.file.unwrap().text, "text");
}

#[test]
fn the_largest_file_is_read() {
    let (_directory, top) = tree();
    let size = usize::try_from(MAX_POLICY_FILE_BYTES).unwrap();
    std::fs::write(top.join("project/stockade.toml"), "#".repeat(size)).unwrap();
    assert_eq!(Project::at(&top, Path::new("project")).unwrap().file.unwrap().text.len(), size);
}

/// T50: a file that somebody put into a shared directory above says nothing.
#[test]
fn a_strangers_file_is_refused() {
    if !testing::is_root() {
        return testing::skip("only root can make files of others");
    }
    let (_directory, top) = tree();
    let path = top.join("project/stockade.toml");
    std::fs::write(&path, "text").unwrap();
    std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
    assert_eq!(
        reason(Project::find(&top.join("project"))),
        PolicyFileReason::ForeignOwner { owner: 12345, caller: 0 }
    );
    // Root works in the project of the user who owns it.
    std::os::unix::fs::chown(top.join("project"), Some(12345), None).unwrap();
    assert!(Project::find(&top.join("project")).unwrap().file.is_some());
}

#[test]
fn the_users_configuration_may_be_a_link_or_missing() {
    let (_directory, top) = tree();
    std::fs::write(top.join("real.toml"), "text").unwrap();
    symlink("../real.toml", top.join("project/config.toml")).unwrap();
    let path = HostPath::new(top.join("project/config.toml").into_os_string()).unwrap();
    assert_eq!(PolicyFile::of_user(&path).unwrap().unwrap().text, "text");
    let path = HostPath::new(top.join("real.toml/below").into_os_string()).unwrap();
    assert_eq!(PolicyFile::of_user(&path).unwrap(), None);
}
