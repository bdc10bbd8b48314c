//! An object that stays, goes and is taken for another. Runs no cage.

use std::os::unix::fs::MetadataExt as _;

use plan::FileKind;

use super::*;

/// K227, K237
#[test]
fn an_object_is_found_where_a_sweep_has_put_it() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let path = top.join(".envrc");
    std::fs::write(&path, "").unwrap();
    let status = std::fs::metadata(&path).unwrap();
    let object = Source {
        path: HostPath::new(path.clone().into_os_string()).unwrap(),
        kind: FileKind::File,
        device: status.dev(),
        inode: status.ino(),
    };
    assert_eq!(whereabouts(&object), Whereabouts::Same);
    std::fs::write(top.join(".envrc.quarantined-other"), "").unwrap();
    let aside = top.join(".envrc.quarantined-01abc");
    std::fs::rename(&path, &aside).unwrap();
    let found = HostPath::new(aside.clone().into_os_string()).unwrap();
    assert_eq!(whereabouts(&object), Whereabouts::SetAside(found));
    std::fs::write(&path, "").unwrap();
    assert_eq!(whereabouts(&object), Whereabouts::Replaced);
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&aside).unwrap();
    assert_eq!(whereabouts(&object), Whereabouts::Removed);
}
