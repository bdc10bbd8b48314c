//! Lines of a mount table against what was planned.

use super::*;

fn mounted(at: &str, attributes: u64, brings_submounts: bool) -> PlannedMount {
    let (at, presence) = (GuestPath::new(at).unwrap(), Presence::Certain);
    PlannedMount { at, attributes, brings_submounts, kind: Kind::Any, presence }
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

/// T12: a view with a layer is overlayfs, and trusts no note that a program could have written.
#[test]
fn a_view_is_what_was_granted() {
    let line = |rest: &str| format!("36 35 0:40 / /project rw,nosuid,nodev - {rest}");
    for (rest, is_right) in [
        ("overlay overlay rw,lowerdir=a,upperdir=b/upper,workdir=b/work,userxattr", true),
        ("overlay overlay rw,lowerdir=a,upperdir=b/upper,workdir=b/work", false),
        ("overlay overlay ro,lowerdir=a,upperdir=b/upper,workdir=b/work,userxattr", false),
        ("ext4 /dev/root rw,userxattr", false),
    ] {
        let line = line(rest);
        let entry = Entry::parse(line.as_bytes()).unwrap();
        assert_eq!(entry.check_kind(Kind::Overlay).is_ok(), is_right, "{rest}");
        assert!(entry.check_kind(Kind::Any).is_ok());
    }
}

/// V17
#[test]
fn each_mount_is_found_once_and_from_below() {
    let below = mounted("/a", sys::mount::RDONLY, false);
    let planned = PlannedMounts(vec![below, mounted("/b", 0, false), mounted("/a", 0, false)]);
    let line = |at: &str, options: &str| format!("1 0 0:1 / {at} {options} - tmpfs none rw\n");
    let (below, above, beside) = (line("/a", "ro"), line("/a", "rw"), line("/b", "rw"));
    for (table, is_right) in [
        ([&*below, &above, &beside].concat(), true),
        ([&*above, &below, &beside].concat(), false),
        ([&*below, &above, &above, &beside].concat(), false),
        ([&*below, &beside].concat(), false),
    ] {
        let file = tempfile::tempfile().unwrap();
        rustix::io::pwrite(&file, table.as_bytes(), 0).unwrap();
        let compared = planned.compare_with(std::os::fd::AsFd::as_fd(&file));
        assert_eq!(compared.is_ok(), is_right, "{table}");
    }
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

/// V17: a table that somebody else wrote is compared as it is read.
#[test]
fn a_table_must_have_every_certain_mount_and_no_other() {
    let possible = PlannedMount { presence: Presence::Possible, ..mounted("/proc/keys", 0, false) };
    let planned = PlannedMounts(vec![mounted("/", 0, false), mounted("/usr", 0, true), possible]);
    let root = "1 0 0:1 / / rw - tmpfs none rw\n";
    let usr = "2 1 8:1 /usr /usr rw - ext4 /dev/root rw\n";
    let keys = "3 1 0:2 / /proc/keys rw - tmpfs none rw\n";
    let disk = "4 2 8:2 / /usr/local rw - ext4 /dev/sdb rw\n";
    for (table, problem) in [
        (vec![root, usr], None),
        (vec![root, usr, keys, disk], None),
        (vec![root], Some("cannot verify `/usr`: it is not in the mount table")),
        (vec![root, usr, usr], Some("cannot verify `/usr`: the plan does not have this mount")),
        (vec![root, usr, "5"], Some("cannot verify `the mount table`: cannot read `5`")),
        (vec![usr], Some("cannot verify `/`: it is not in the mount table")),
    ] {
        let file = tempfile::tempfile().unwrap();
        rustix::io::pwrite(&file, table.concat().as_bytes(), 0).unwrap();
        let compared = planned.compare_with(std::os::fd::AsFd::as_fd(&file));
        assert_eq!(compared.err().map(|failure| failure.to_string()).as_deref(), problem);
    }
}

/// V17: whatever the order of the table and the length of its lines, wherever a read ends.
#[test]
fn a_table_is_read_in_any_order_and_to_its_last_line() {
    let name = |number: usize| format!("/{}{number}", "x".repeat(number * 37 % 3000));
    let mounts = (0..400).map(|number| mounted(&name(number), sys::mount::NODEV, false));
    let planned = PlannedMounts(mounts.collect());
    let line = |number: usize, options: &str, root: &str| {
        format!("{number} 1 8:1 {root} {} {options} - ext4 /dev/root rw\n", name(number))
    };
    let long = "/y".repeat(TABLE_CHUNK);
    let whole: Vec<String> = (0..400)
        .map(|place| place * 7 % 400)
        .map(|number| line(number, "rw,nodev", if number == 200 { &long } else { "/" }))
        .collect();
    let compare = |table: String| {
        let file = tempfile::tempfile().unwrap();
        rustix::io::pwrite(&file, table.as_bytes(), 0).unwrap();
        planned.compare_with(std::os::fd::AsFd::as_fd(&file)).map_err(|failure| failure.to_string())
    };
    assert_eq!(compare(whole.concat()), Ok(()));
    assert_eq!(compare(whole.concat().trim_end().to_owned()), Ok(()));
    for number in [0, 200, 399] {
        let mut lacking = whole.clone();
        let replaced = lacking.remove(number);
        assert!(compare(lacking.concat()).unwrap_err().contains("not in the mount table"));
        lacking.insert(number, replaced.replace("rw,nodev", "rw"));
        assert!(compare(lacking.concat()).unwrap_err().contains("it is not mounted nodev"));
    }
}
