//! Longer conversations than one request: git over HTTPS and over ssh, large transfers, many
//! connections at once.

use std::fs;
use std::process::Command;

use super::support::{has, has_all};
use super::world::World;

/// K106: a clone and a push over HTTPS; to another host neither.
#[test]
fn git_over_https() {
    if !has("git") {
        return;
    }
    let Some(world) = World::new() else { return };
    make_repository(&world);
    let clone = |host: &str| {
        format!("git clone -q https://{host}/git/repository.git copy && cat copy/file")
    };
    world
        .uncaged_shell(&format!(
            "cd /tmp && rm -rf copy && {}; rm -rf copy",
            clone("other.example")
        ))
        .prints("contents");
    for run in [World::shell, World::shell_without_proxy] {
        run(&world, &["web.example:443"], &clone("web.example")).works().prints("contents");
        fs::remove_dir_all(world.place.project.join("copy")).unwrap();
        run(&world, &["web.example:443"], &clone("other.example")).name_is_refused("other.example");
    }
}

/// K81, T36: a protocol in which the server speaks first, on a port of its own.
#[test]
fn ssh() {
    if !has_all(&["ssh", "sshd", "ssh-keygen"]) {
        return;
    }
    let Some(world) = World::new() else { return };
    fs::copy(world.file("user_key"), world.place.project.join("user_key")).unwrap();
    let line = |host: &str, port: u16| {
        format!(
            "key=$(mktemp) && cat user_key > $key && ssh -q -F none -i $key \
             -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes \
             -p {port} visitor@{host} 'echo spoke to ssh'; code=$?; rm -f $key; exit $code"
        )
    };
    world.uncaged_shell(&line("other.example", 22)).expect_code(0).prints("spoke to ssh");
    world.shell(&["web.example:22"], &line("web.example", 22)).works().prints("spoke to ssh");
    world.shell(&["web.example:443"], &line("web.example", 22)).is_refused("web.example", 22);
    world.shell(&["web.example:22"], &line("other.example", 22)).name_is_refused("other.example");
}

/// K106: what was sent is what arrives, in both directions, and the report counts it.
#[test]
fn large_transfers() {
    let Some(world) = World::new() else { return };
    let line = "curl -sS http://web.example/bytes/200000000 | sha256sum";
    let expected = "head -c 200000000 /dev/zero | sha256sum";
    let expected = world.uncaged_shell(expected).stdout;
    for run in [World::shell, World::shell_without_proxy] {
        let done = run(&world, &["web.example"], line);
        done.works().prints(&expected);
        let bytes = done.report()["network"]["bytes_in"].as_u64().unwrap();
        assert!(bytes > 200_000_000, "{bytes}");
        let echo = "head -c 20000000 /dev/urandom > body && \
             curl -sS --data-binary @body https://web.example/ | cmp - body";
        run(&world, &["web.example"], echo).works();
    }
}

/// K106: connections do not wait for each other.
#[test]
fn many_connections_at_once() {
    let Some(world) = World::new() else { return };
    let line = "curl -sS --no-progress-meter -Z --parallel-max 100 -o /dev/null -w '%{http_code}\\n' \
         'http://web.example/bytes/1000?[1-300]' | sort | uniq -c";
    for run in [World::shell, World::shell_without_proxy] {
        run(&world, &["web.example"], line).works().prints("300 200");
    }
}

fn make_repository(world: &World) {
    let script = "git init -q -b main work && cd work && echo contents > file && git add file && \
         git -c user.name=a -c user.email=a@b commit -qm first && cd .. && mkdir -p git && \
         git clone -q --bare work git/repository.git";
    let directory = world.authority();
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(directory.parent().unwrap())
        .env("HOME", directory.parent().unwrap())
        .status()
        .unwrap();
    assert!(made.success());
}
