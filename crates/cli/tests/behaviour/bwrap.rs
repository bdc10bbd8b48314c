//! The bubblewrap backend, run for real.

use super::support::{Place, has, is_root};

/// K1, K166
#[test]
fn the_same_cage_is_built_by_bubblewrap() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    place.write("file", "contents");
    place.write("hidden/file", "x");
    if is_root() {
        // Without idmapped mounts root's cages see files as strangers do.
        use std::os::unix::fs::PermissionsExt as _;
        for path in [place.home.parent().unwrap(), &place.home, &place.project] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let run = |line: &str| place.shell(&["--backend", "bwrap", "--hide", "hidden"], line);
    run("cat file").expect_code(0).prints("contents");
    run("id -u; hostname").expect_code(0).prints("1000\nstockade-");
    run("exit 7").expect_code(7);
    run("cat hidden/file").expect_code(1);
    run("touch /x").expect_code(1);
    run("cat /etc/shadow").expect_code(1);
    run("env | grep -c LD_PRELOAD").expect_code(1);
    run("grep Seccomp: /proc/self/status").expect_code(0).prints("2");
    run("unshare -U true").expect_code(1);
}

/// K1
#[test]
fn what_it_cannot_do_is_refused() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let flags = ["--backend", "bwrap", "--memory", "64M"];
    place.shell(&flags, "true").expect_code(122).says("bwrap");
}
