//! Want of descriptors in the gatekeeper is told to whoever comes then and costs nobody else anything.

use std::io::Write as _;
use std::net::TcpListener;

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::serving::{Serving, eventually, has, skip};

/// K15, K192: a cage that it has no descriptors for is refused; it stays, and the cages that it serves
/// keep their network.
#[test]
fn a_cage_too_many_for_the_gatekeeper_is_refused() {
    if !has("bash") {
        return;
    }
    let serving = Serving::new();
    let port = greeter();
    let line = format!(
        "for i in $(seq 1200); do read word < /dev/tcp/127.0.0.1/{port} && echo $word; sleep 0.05; done"
    );
    let request = |argv: Value| {
        let rules = json!({ "host_ports": [port] });
        json!({ "project": serving.place.project, "argv": argv, "rules": rules })
    };
    let served = serving.spawn(&request(json!(["bash", "-c", line])));
    serving.wait_for_output(&served, "hello");
    let gatekeeper = gatekeeper_of(serving.pid());
    let allow = |descriptors| -> Result<_, Errno> {
        let limit = Rlimit { current: Some(descriptors), maximum: Some(MOST) };
        prlimit(Some(gatekeeper), Resource::Nofile, limit)
    };
    if allow(1) == Err(Errno::PERM) {
        return skip("this root may not limit a process of another user");
    }
    let refused = serving.post("/v1/cages", &request(json!(["true"])));
    let message = refused.refused(503, "network_error");
    assert!(message.contains("ulimit -n"), "{message}");
    allow(MOST).unwrap();
    let before = serving.output(&served, "stdout").len();
    eventually("it is served on", || serving.output(&served, "stdout").len() > before);
    let next = serving.spawn(&request(json!(["true"])));
    assert_eq!(serving.wait(&next)["end"]["exit_code"], 0);
    assert_eq!(gatekeeper_of(serving.pid()), gatekeeper);
}

const MOST: u64 = 1024;

/// Says a word to whoever comes.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _gone = stream.unwrap().write_all(b"hello\n");
        }
    });
    port
}

/// The process of that name whose parent is one of the daemon's helpers.
fn gatekeeper_of(daemon: u32) -> Pid {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let parent = |pid: u32| -> Option<u32> {
        stat(pid)?.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let is_it = |pid: &u32| {
        stat(*pid).is_some_and(|stat| stat.contains("(stockade-gate)"))
            && parent(*pid).and_then(parent) == Some(daemon)
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let mut pids = names.filter_map(|name| name.to_str()?.parse().ok());
    let found = pids.find(is_it).unwrap();
    Pid::from_raw(found.cast_signed()).unwrap()
}
