//! Who the program is inside, and what it can no longer become.

use super::support::{Place, has, is_root};

/// K42, K45, K221
#[test]
fn the_program_is_an_ordinary_user_of_another_machine() {
    let place = Place::new();
    let line = "id -u; id -g; id -un; id -Gn; hostname; echo $HOME; echo $USER; cd; pwd";
    let ended = place.shell(&[], line);
    ended.expect_code(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let home = place.home.to_str().unwrap();
    let own = |id: u32| if is_root() { "1000".to_owned() } else { id.to_string() };
    let uid = own(rustix::process::geteuid().as_raw());
    let gid = own(rustix::process::getegid().as_raw());
    assert_eq!(lines[..4], [uid.as_str(), &gid, "agent", "agent"]);
    assert!(lines[4].starts_with("stockade-") && lines[4].len() == 17, "{}", lines[4]);
    assert_eq!(lines[5..], [home, "agent", home]);
}

/// K42: programs ask for the address of their own host, and without one some do not start.
#[test]
fn the_host_name_is_the_cages_loopback() {
    let place = Place::new();
    for flags in [&[][..], &["--net", "example.com"], &["--backend", "bwrap"]] {
        if flags.contains(&"bwrap") && !has("bwrap") {
            continue;
        }
        let line = "getent hosts \"$(hostname)\"; hostname -f; getent hosts localhost";
        let ended = place.shell(&[flags, &["--quiet"]].concat(), line);
        let lines: Vec<&str> = ended.expect_code(0).stdout.lines().collect();
        let words: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(words[0], "127.0.0.1", "{flags:?}: {lines:?}");
        assert_eq!(words[1], lines[1], "{flags:?}: {lines:?}");
        assert!(lines[1].starts_with("stockade-") && lines[2].contains("localhost"), "{lines:?}");
    }
}

/// K9, K131, K229, K230
#[test]
fn there_is_no_privilege_left() {
    let place = Place::new();
    for profile in ["default", "relaxed"] {
        let ended = place.shell(&["--quiet", "--seccomp", profile], "cat /proc/self/status");
        ended.expect_code(0);
        for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            ended.prints(&format!("{field}:\t0000000000000000\n"));
        }
        ended.prints("NoNewPrivs:\t1\n").prints("Seccomp:\t2\n");
    }
}

/// K130, K231, T23
#[test]
fn no_namespace_can_be_made_inside() {
    let place = Place::new();
    for kind in ["-U", "-m", "-n", "-p", "-u", "-i", "-C"] {
        let ended = place.shell(&["--quiet"], &format!("unshare {kind} true"));
        assert_ne!(ended.code, 0, "{kind}");
        let ended =
            place.shell(&["--quiet", "--seccomp", "relaxed"], &format!("unshare {kind} true"));
        assert_ne!(ended.code, 0, "{kind}, relaxed");
    }
}

/// K8, K39, T58, V14
#[test]
fn only_its_own_processes_are_seen() {
    let place = Place::new();
    let ended = place.shell(&[], "ls /proc | grep -c '^[0-9]'; kill -0 1 && echo reached; true");
    let count: u32 = ended.stdout.lines().next().unwrap().parse().unwrap();
    assert!(count <= 4, "{}", ended.stdout);
}

/// K44, K228, V14
#[test]
fn the_program_leads_a_session_of_its_own() {
    let place = Place::new();
    // Process, group and session: the fields of proc_pid_stat(5) behind the name.
    let line = "read -r stat < /proc/$$/stat; set -- ${stat##*) }; echo $$ $3 $4";
    let ended = place.shell(&[], line);
    let ids: Vec<&str> = ended.expect_code(0).stdout.split_whitespace().collect();
    // A session that began outside would be 0 here.
    assert!(ids[0] != "0" && ids == [ids[0]; 3], "{ids:?}");
}

/// K6, K47
#[test]
fn the_network_is_loopback() {
    let place = Place::new();
    let ended = place.shell(&[], "tail -n +3 /proc/net/dev | cut -d: -f1");
    ended.expect_code(0);
    assert_eq!(ended.stdout.trim(), "lo");
}

/// The caller's umask holds inside.
#[test]
fn the_umask_is_the_callers() {
    let place = Place::new();
    for mask in ["0022", "0077", "0002"] {
        let line = format!(
            "umask {mask}; exec '{}' run -- sh -c umask",
            super::support::stockade_binary().display()
        );
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &line])
            .current_dir(&place.project)
            .env("HOME", &place.home)
            .env("XDG_STATE_HOME", place.state());
        let ended = super::support::Ended::of(command.output().unwrap());
        assert_eq!(ended.stdout.trim(), mask, "{}", ended.stderr);
    }
}

/// The caller's processors are the program's, whichever the cage was made on.
#[test]
fn the_processors_are_the_callers() {
    let place = Place::new();
    let allowed = |status: &str| {
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed:"));
        line.map(str::to_owned)
    };
    let own = allowed(&std::fs::read_to_string("/proc/thread-self/status").unwrap());
    assert!(own.is_some());
    for _ in 0..5 {
        let ended = place.shell(&["--quiet"], "cat /proc/self/status");
        ended.expect_code(0);
        assert_eq!(allowed(&ended.stdout), own);
    }
    let line = format!(
        "taskset -cp $(taskset -cp $$ | sed 's/.*: //;s/[-,].*//') $$ >/dev/null
         grep Cpus_allowed: /proc/$$/status
         exec '{}' run --quiet -- grep Cpus_allowed: /proc/self/status",
        super::support::stockade_binary().display()
    );
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &line])
        .current_dir(&place.project)
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state());
    let ended = super::support::Ended::of(command.output().unwrap());
    ended.expect_code(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{}", ended.stdout);
}

/// The program starts where the caller is, where the cage shows that.
#[test]
fn the_working_directory_is_the_callers() {
    let place = Place::new();
    std::fs::create_dir_all(place.project.join("deep/down")).unwrap();
    place.default_cage("fs = [{ ro = \".\" }]");
    let mut command = place.stockade();
    command.current_dir(place.project.join("deep/down")).args(["run", "--", "pwd"]);
    let ended = super::support::Ended::of(command.output().unwrap());
    assert_eq!(ended.stdout.trim(), place.project.join("deep/down").to_str().unwrap());
    // Elsewhere, with a named project: at its root.
    let mut command = place.stockade();
    command
        .current_dir(place.outside())
        .arg("run")
        .arg("--project")
        .arg(&place.project)
        .args(["--", "pwd"]);
    let ended = super::support::Ended::of(command.output().unwrap());
    assert_eq!(ended.stdout.trim(), place.project.to_str().unwrap());
}

/// K40, V15
#[test]
fn devices_are_few() {
    let place = Place::new();
    let ended = place.shell(&[], "cd /dev; ls | tr '\\n' ' '; head -c 4 /dev/urandom | wc -c");
    ended.expect_code(0);
    let expected = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero 4\n";
    assert_eq!(ended.stdout, expected);
    assert_ne!(place.shell(&[], "mknod /tmp/x c 1 3").code, 0);
}
