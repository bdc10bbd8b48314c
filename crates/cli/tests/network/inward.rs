//! The ways between a cage's loopback and the host's: services of the host that a cage may use, and
//! ports of a cage that the host may.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::support::{Ended, slowly};
use super::world::World;

/// K113, T45: the named port of the host's loopback, in both families, and no other.
#[test]
fn services_of_the_host() {
    let Some(world) = World::new() else { return };
    world.configure("[cage.inward]\nfs = [{ rw = \".\" }]\nnet = { host_ports = [8000] }");
    let run = |line: &str| world.run(&["--cage", "inward"], &["sh", "-c", line]);
    for address in ["127.0.0.1", "[::1]", "localhost"] {
        let get = |port: u16| format!("curl -sSf -m 10 http://{address}:{port}/");
        run(&get(8000)).works().prints("hello from");
        run(&get(8001)).fails_at_once();
    }
    let seen = world.contacts("near");
    assert!(seen.iter().all(|contact| contact["port"] != 8001), "{seen:?}");
}

/// A published port is on the host's loopback, in both families, and nowhere else.
#[test]
fn ports_of_a_cage() {
    let Some(world) = World::new() else { return };
    world.configure("[cage.inward]\nfs = [{ rw = \".\" }]\nnet = { publish = [9100] }");
    let serve = "python3 -m http.server --bind 127.0.0.1 9100 2>/dev/null & \
         python3 -m http.server --bind ::1 9100 2>/dev/null & \
         python3 -m http.server --bind 127.0.0.1 9101 2>/dev/null & wait";
    let report = world.file("inward.json");
    let mut cage = world.caged(&["--cage", "inward"], &report);
    let mut cage = cage.args(["--", "sh", "-c", serve]).spawn().unwrap();
    world.place.write("published", "from the cage\n");
    let get = |address: &str, port: u16| {
        let mut curl = world.uncaged("curl");
        curl.args(["-sS", "-m", "5", &format!("http://{address}:{port}/published")]);
        curl
    };
    eventually(&mut cage, || get("127.0.0.1", 9100));
    eventually(&mut cage, || get("[::1]", 9100));
    for address in ["203.0.113.1", "[2001:db8:1::1]", "10.99.0.1"] {
        assert_ne!(Ended::of(get(address, 9100).output().unwrap()).code, 0, "{address}");
    }
    assert_ne!(Ended::of(get("127.0.0.1", 9101).output().unwrap()).code, 0);
    let mut far = world.far("curl");
    far.args(["-sS", "-m", "2", "http://203.0.113.1:9100/published"]);
    assert_ne!(Ended::of(far.output().unwrap()).code, 0);
    cage.kill().unwrap();
    cage.wait().unwrap();
    assert_ne!(Ended::of(get("127.0.0.1", 9100).output().unwrap()).code, 0, "it is still there");
}

/// Servers take a moment to listen.
#[track_caller]
fn eventually(cage: &mut Child, command: impl Fn() -> Command) {
    let deadline = Instant::now() + slowly(Duration::from_secs(10));
    loop {
        let ended = Ended::of(command().output().unwrap());
        if ended.code == 0 && ended.stdout.contains("from the cage") {
            return;
        }
        assert!(cage.try_wait().unwrap().is_none(), "the cage has ended");
        assert!(Instant::now() < deadline, "{}", ended.stderr);
        std::thread::sleep(Duration::from_millis(50));
    }
}
