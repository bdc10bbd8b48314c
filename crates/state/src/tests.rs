//! The state directory: made once, and refused where it could be somebody else's.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn place() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(parent.path()).unwrap().join("state/stockade");
    (parent, path)
}

fn open_at(path: &Path) -> Result<Directory, StateError> {
    Directory::open(&HostPath::new(path.as_os_str().to_owned()).unwrap())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn it_is_made_for_its_owner_alone() {
    let (_parent, path) = place();
    let made = open_at(&path).unwrap();
    assert_eq!(made.path().as_path(), path);
    assert_eq!(made.audit(), path.join("audit"));
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    open_at(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
}

#[test]
fn what_could_be_somebody_elses_is_refused() {
    let (_parent, path) = place();
    open_at(&path).unwrap();
    let refused = |part: &str| {
        let error = open_at(&path).unwrap_err();
        assert!(matches!(error, StateError::Untrustworthy { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    for writable in [0o720, 0o702, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(writable)).unwrap();
        refused("others may write");
    }
    fs::remove_dir(&path).unwrap();
    symlink(path.parent().unwrap(), &path).unwrap();
    refused("a link");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    refused("a link or a file");
    fs::remove_file(&path).unwrap();
    open_at(&path).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        refused("belongs to user 12345");
    }
}
