//! Lines of a mount table against what was planned.

use super::*;

fn mounted(at: &str, attributes: u64, brings_submounts: bool) -> Mounted {
    Mounted { at: GuestPath::new(at).unwrap(), attributes, brings_submounts }
}

/// V17
#[test]
fn escapes_are_read_as_the_kernel_writes_them() {
    for (written, path) in [
        (br"/a\040b\011\134x".as_slice(), b"/a b\t\\x".as_slice()),
        (br"/a\9", br"/a\9"),
        (b"/plain", b"/plain"),
    ] {
        assert_eq!(unescape(written).as_ref(), path);
    }
}

/// V17, T60
#[test]
fn an_entry_must_have_every_restriction_of_its_plan() {
    let line = b"36 35 98:0 /mnt /mnt rw,nosuid,nodev - ext4 /dev/root rw";
    let entry = Entry::parse(line).unwrap();
    assert!(entry.check(sys::mount::NOSUID | sys::mount::NODEV).is_ok());
    let failure = entry.check(sys::mount::RDONLY).unwrap_err();
    assert_eq!(failure.to_string(), "cannot verify `/mnt`: it is not mounted ro");
    assert!(entry.check(sys::mount::NOEXEC).is_err());
}

/// V17
#[test]
fn each_mount_is_found_once_and_from_below() {
    let all = [mounted("/a", 1, false), mounted("/b", 2, false), mounted("/a", 3, false)];
    let mut expected = Expected::new(&all);
    let mut attributes = |at: &[u8]| expected.take(at).map(|mount| mount.attributes);
    assert_eq!(attributes(b"/a"), Some(1));
    assert_eq!(attributes(b"/a"), Some(3));
    assert_eq!(attributes(b"/a"), None);
    assert_eq!(expected.left().map(|mount| mount.attributes), Some(2));
    assert!(expected.take(b"/b").is_some());
    assert!(expected.left().is_none());
}

/// V17
#[test]
fn a_mount_that_nobody_planned_is_a_difference() {
    let line = b"36 35 98:0 / /project/usb ro,nosuid,nodev - ext4 /dev/sdb rw";
    let entry = Entry::parse(line).unwrap();
    let attributes = sys::mount::NOSUID | sys::mount::NODEV;
    assert!(entry.check_submount(&[mounted("/project", attributes, true)]).is_ok());
    assert!(entry.check_submount(&[mounted("/project", attributes, false)]).is_err());
    assert!(entry.check_submount(&[mounted("/other", attributes, true)]).is_err());
    let stricter = attributes | sys::mount::NOEXEC;
    assert!(entry.check_submount(&[mounted("/project", stricter, true)]).is_err());
}
