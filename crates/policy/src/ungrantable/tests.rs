//! What can and cannot be granted, as tables.

use plan::HostPath;

use super::{LIST, Place, check, is_home_or_system_tree, place};

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

/// V16, T14, T31, T57
#[test]
fn control_sockets_and_kernel_trees_cannot_be_granted() {
    let own = [path("/home/u/.local/state/stockade"), path("/home/u/.config/stockade")];
    for text in [
        "/",
        "/proc",
        "/proc/1/root",
        "/sys/fs/cgroup",
        "/dev",
        "/dev/sda",
        "/dev/shm",
        "/run",
        "/run/user/1000",
        "/run/user/1000/bus",
        "/run/docker.sock",
        "/run/media",
        "/run/media/u",
        "/var/run",
        "/var/run/docker.sock",
        "/var",
        "/var/lib",
        "/var/lib/docker/overlay2",
        "/boot/efi",
        "/tmp",
        "/tmp/.X11-unix",
        "/tmp/.X11-unix/X0",
        "/tmp/tmux-1000/default",
        "/tmp/ssh-abcdef",
        "/tmp/ssh-",
        "/tmp/ssh-abcdef/agent.1",
        "/home/u/.config/stockade",
        "/home/u/.local/state/stockade/audit.jsonl",
    ] {
        assert!(check(&path(text), &own).is_err(), "{text}");
    }
    for text in [
        "/home/u",
        "/home/u/.config",
        "/home/u/project",
        "/tmp/project",
        "/tmp/tmux",
        "/tmp/ssh",
        "/tmpfile",
        "/run/media/u/*",
        "/etc",
        "/usr",
        "/opt/tools",
        "/procession",
        "/run/media/u/disk",
        "/run/media/u/disk/project",
        "/run/current-system/sw",
        "/var/lib/postgresql",
    ] {
        assert_eq!(check(&path(text), &own), Ok(()), "{text}");
    }
}

/// V16: the reason says what stands against it and, for a directory above, which path that is.
#[test]
fn a_refusal_says_why() {
    insta::assert_snapshot!(
        check(&path("/var"), &[]).unwrap_err(),
        @"`/var` cannot be granted: `/var/run` lies inside: control sockets of the host live there, and whoever reaches one commands what listens on it"
    );
    insta::assert_snapshot!(
        check(&path("/proc/\u{202e}x"), &[]).unwrap_err(),
        @r"`/proc/\u{202e}x` cannot be granted: it shows the host's processes"
    );
}

/// M37
#[test]
fn homes_and_system_trees_are_too_broad_to_be_granted_unnamed() {
    let homes = [path("/srv/people/u")];
    for text in [
        "/",
        "/home",
        "/home/anyone",
        "/root",
        "/srv/people/u",
        "/srv/people",
        "/srv",
        "/etc",
        "/etc/ssl",
        "/usr",
        "/usr/lib/x",
        "/usr/local",
        "/var",
        "/var/log/x",
        "/tmp",
        "/opt",
        "/proc/1",
        "/run/media/u",
    ] {
        assert!(is_home_or_system_tree(&path(text), &homes), "{text}");
    }
    for text in [
        "/home/anyone/project",
        "/root/project",
        "/srv/people/u/project",
        "/srv/www",
        "/tmp/project",
        "/opt/project",
        "/usr/src/project",
        "/usr/local/src/project",
        "/work/project",
        "/data",
        "/run/media/u/disk",
    ] {
        assert!(!is_home_or_system_tree(&path(text), &homes), "{text}");
    }
}

/// V16: the one look that spares the comparison never takes the place of it.
#[test]
fn an_entry_that_one_look_rules_out_has_nothing_to_do_with_the_path() {
    let texts = LIST.iter().map(|entry| entry.path.replace('*', "star"));
    let texts: Vec<String> = texts.chain(LIST.iter().map(|entry| entry.path.to_owned())).collect();
    let mut ruled_out = 0;
    for text in &texts {
        let shorter = (1..=text.len()).map(|end| text[..end].to_owned());
        let longer = ["/below", "-beside", "x"].map(|more| format!("{text}{more}"));
        // Not every beginning of a path is one.
        for candidate in shorter.chain(longer).filter_map(|text| HostPath::new(text).ok()) {
            for entry in LIST.iter().filter(|entry| entry.is_plainly_apart(&candidate)) {
                assert!(
                    place(&candidate, entry.path) == Place::Apart,
                    "{candidate} {}",
                    entry.path
                );
                ruled_out += 1;
            }
        }
    }
    assert!(ruled_out > 10_000, "{ruled_out}");
}
