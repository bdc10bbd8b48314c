//! Who counts as root, as an account and as a home. Changes no identity.

use super::*;

#[test]
fn only_the_initial_namespace_maps_every_id() {
    let table = [
        ("         0          0 4294967295\n", true),
        ("         0       1000          1\n", false),
        ("0 1000 1\n1 100000 65536\n", false),
        ("0 0 4294967295\n1 1 1\n", false),
        ("0 0 65536\n", false),
        ("", false),
    ];
    for (map, expected) in table {
        assert_eq!(maps_every_id(map), expected, "{map}");
    }
}

/// T50: a moved `HOME` cannot become something that is not one user's.
#[test]
fn a_home_is_a_directory_of_one_user() {
    let table = [
        ("/home/user", true),
        ("/root", true),
        ("/data/people/user", true),
        ("/var/lib/jenkins", true),
        ("/nonexistent", true),
        ("/", false),
        ("/home", false),
        ("/etc", false),
        ("/usr/sbin", false),
        ("/bin", false),
        ("/dev", false),
        ("/proc/1", false),
        ("/run/user/1000", false),
        ("/tmp", false),
        ("/var", false),
        ("/var/spool/cron", false),
    ];
    for (path, expected) in table {
        assert_eq!(can_be_of_one_user(&HostPath::new(path).unwrap()), expected, "{path}");
    }
}

/// T64: system paths are never given to the cage as its own.
#[test]
fn system_trees_are_known() {
    let table = [
        ("/etc/nginx", true),
        ("/usr/lib/x", true),
        ("/usr", true),
        ("/var/log/app", true),
        ("/usr/src/app", false),
        ("/usr/local/src/app", false),
        ("/srv/app", false),
        ("/home/user/usr", false),
        ("/usrlocal", false),
    ];
    for (path, expected) in table {
        assert_eq!(is_system_tree(&HostPath::new(path).unwrap()), expected, "{path}");
    }
}

#[test]
fn accounts_are_read_from_their_file() {
    let text = b"root:x:0:0:root:/root:/bin/bash\n\
        user:x:1000:1000:A, B:/home/user:/bin/sh\n\
        # comment\n\
        short:x:1\n\
        relative:x:5:5::home:/bin/sh\n\
        odd:x:6:6::/home/\xff:/bin/sh\n\
        last:x:7:7::/home/last:";
    let homes: Vec<_> = parse_accounts(text)
        .into_iter()
        .map(|account| (account.uid, account.home.as_bytes().to_vec()))
        .collect();
    let expected: [(u32, &[u8]); 4] =
        [(0, b"/root"), (1000, b"/home/user"), (6, b"/home/\xff"), (7, b"/home/last")];
    assert_eq!(homes, expected.map(|(uid, home)| (uid, home.to_vec())));
}

#[test]
fn the_caller_is_this_process() {
    let opener = Opener::new().unwrap();
    let caller = examine(None, &opener).unwrap();
    assert_eq!(caller.ids.uid, rustix::process::geteuid().as_raw());
    assert_eq!(caller.ids.gid, rustix::process::getegid().as_raw());
    assert_eq!(caller.privileged, caller.ids.uid == 0);
    assert_eq!(caller.home, None);
    let root = HostPath::root();
    assert_eq!(examine(Some(&root), &opener).unwrap().home, None);
    let missing = HostPath::new("/home/nobody-at-all").unwrap();
    assert_eq!(examine(Some(&missing), &opener).unwrap().home, Some(missing));
}
