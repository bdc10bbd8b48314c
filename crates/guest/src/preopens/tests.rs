//! What of a list of mounts a module begins with.
use super::{is_meant, mount_points};

/// A22
#[test]
fn what_is_mounted_below_a_directory_is_named() {
    let mounts = b"1 0 0:1 / / rw - tmpfs t rw\n2 1 0:2 / /mnt/data rw shared:1 - fuse f rw\n\
                   3 1 0:3 / /tmp rw - tmpfs t rw\n4 1 0:4 / /dev/pts rw - devpts d rw\n\
                   5 1 0:5 / /mnt/a\\040b rw - tmpfs t rw\nhalf a line\n";
    let meant: Vec<_> = mount_points(mounts).filter(|point| is_meant(point)).collect();
    assert_eq!(meant, [b"/mnt/data".to_vec()]);
}
