//! What is given up, by itself: in a thread of this process, on a file system where set-user-id programs
//! would work.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// T24: a set-user-id program stays who its caller is, whatever its mount allows.
#[test]
fn a_set_user_id_program_gains_nothing() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: privileges: only root can make a program that is somebody else's");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = directory.path().join("id");
    std::fs::copy("/usr/bin/id", &program).unwrap();
    std::os::unix::fs::chown(&program, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o6755)).unwrap();
    let become_whom = || {
        let output = Command::new(&program).arg("-u").output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse::<u32>().unwrap()
    };
    if become_whom() != SOMEBODY {
        println!("skipped: privileges: nothing in {} is set-user-id", directory.path().display());
        return;
    }
    let confined = || {
        super::drop_all().unwrap();
        become_whom()
    };
    // Privileges are a thread's own.
    let became = std::thread::scope(|scope| scope.spawn(confined).join().unwrap());
    assert_eq!(became, 0);
}

/// T24: root's programs would get every capability again from a bounding set.
#[test]
fn the_bounding_set_is_empty_for_whoever_is_started() {
    let confined = || {
        super::drop_all().unwrap();
        std::fs::read_to_string("/proc/thread-self/status").unwrap()
    };
    if !rustix::process::geteuid().is_root() {
        println!("skipped: privileges: only root has a bounding set to empty");
        return;
    }
    let status = std::thread::scope(|scope| scope.spawn(confined).join().unwrap());
    for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let line = format!("{field}:\t0000000000000000");
        assert!(status.lines().any(|found| found == line), "{field} in {status}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}

const SOMEBODY: u32 = 65533;
