//! What happens when something breaks: the gatekeeper is killed, the resolver is silent, cages end at
//! random points. Nothing opens, and nothing is left.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{is_root, slowly};
use super::world::World;

/// K192, T54: without its gatekeeper a cage has no network and nothing else changes; the next cage
/// has one again.
#[test]
fn gatekeeper_killed_in_mid_transfer() {
    let Some(world) = World::new() else { return };
    let line = "curl -sSf -m 30 --limit-rate 2M -o /dev/null http://web.example/bytes/500000000; echo \"first $?\"; \
         curl -sSf -m 20 http://web.example/; echo \"second $?\"; \
         env -u http_proxy -u HTTP_PROXY curl -sSf -m 20 http://web.example/; echo \"third $?\"; \
         curl -sSf -m 20 --noproxy '*' http://203.0.113.2/; echo \"fourth $?\"; \
         curl -sSf -m 20 --noproxy '*' http://10.99.0.2/; echo \"fifth $?\"; exit 7";
    let report = world.file("killed.json");
    let mut command = world.caged(&["--net", "web.example"], &report);
    command.args(["--", "sh", "-c", line]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let cage = command.spawn().unwrap();
    until(|| world.contacts("far").iter().any(|contact| contact["what"] == "request"));
    let gatekeeper = gatekeeper_of(&cage).expect("a gatekeeper");
    world.forget();
    kill_process(gatekeeper, Signal::KILL).unwrap();
    let output = cage.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{stdout}{stderr}");
    for word in ["first", "second", "third", "fourth", "fifth"] {
        assert!(stdout.contains(word) && !stdout.contains(&format!("{word} 0")), "{stdout}");
        // The code of a time that is over: whoever lost the network is told so at once.
        assert!(!stdout.contains(&format!("{word} 28")), "{stdout}");
    }
    assert_eq!(world.contacts("far"), Vec::<serde_json::Value>::new());
    world.shell(&["web.example"], "curl -sSf -m 20 http://web.example/").works();
}

/// K192: one that is slow is not taken for one that is gone, and keeps nobody waiting.
#[test]
fn gatekeeper_that_says_nothing_at_the_end() {
    let Some(world) = World::new() else { return };
    let report = world.file("silent.json");
    let mut command = world.caged(&["--net", "web.example"], &report);
    let line = "curl -sSf -m 10 http://web.example/; sleep 1; exit 7";
    command.args(["--", "sh", "-c", line]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let cage = command.spawn().unwrap();
    until(|| world.contacts("far").iter().any(|contact| contact["what"] == "request"));
    let gatekeeper = gatekeeper_of(&cage).expect("a gatekeeper");
    std::thread::sleep(Duration::from_millis(200));
    kill_process(gatekeeper, Signal::STOP).unwrap();
    let output = cage.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains("has not said in time"), "{stderr}");
    assert!(!stderr.contains("ended before"), "{stderr}");
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    let network = &result["network"];
    assert_eq!(
        (&network["gatekeeper_gone"], &network["gatekeeper_silent"]),
        (&false.into(), &true.into())
    );
    until(|| !std::path::Path::new(&format!("/proc/{}", gatekeeper.as_raw_nonzero())).exists());
}

/// K100: a resolver that does not answer is an error of its own, and not a denial.
#[test]
fn resolver_that_does_not_answer() {
    let Some(world) = World::new() else { return };
    let done = world.shell(&["silent.example"], "curl -sSf -m 60 http://silent.example/");
    // 28 would be curl's own patience.
    assert!(![0, 28].contains(&done.ended.code), "{}", done.ended.code);
}

/// K85, K86, K192, T54: cages with network that end by themselves or are killed leave no process,
/// socket or namespace. `STOCKADE_CYCLES` sets the number of rounds.
#[test]
fn nothing_is_left_after_many_cages() {
    let Some(mut world) = World::new() else { return };
    let cycles: u64 = std::env::var("STOCKADE_CYCLES").map_or(120, |text| text.parse().unwrap());
    let mut random = u64::from(std::process::id()) | 1 << 40;
    // The first cage brings whatever is loaded once.
    world.shell(&["web.example"], "curl -sSf -m 20 http://web.example/").works();
    let (before, namespaces) = (Left::behind(&world), network_namespaces());
    for cycle in 0..cycles {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let marker = format!("{MARKER}{}", std::process::id());
        let report = world.file("cycle.json");
        let mut command = world.caged(&["--quiet", "--net", "web.example"], &report);
        let line = "curl -sS http://web.example/bytes/100000 >/dev/null & wait; sleep $0";
        let sleep = if cycle % 2 == 0 { "0" } else { "1000" };
        command.args(["--", "sh", "-c", line, sleep, &marker]);
        let mut cage = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if cycle % 2 == 1 {
            std::thread::sleep(Duration::from_micros(random % 60_000));
            let victim = match random >> 40 & 1 {
                0 => gatekeeper_of(&cage),
                _ => None,
            };
            if let Some(gatekeeper) = victim {
                let _gone = kill_process(gatekeeper, Signal::KILL);
            }
            cage.kill().unwrap();
        }
        let status = cage.wait().unwrap();
        assert!(cycle % 2 == 1 || status.success(), "cycle {cycle}: {status}");
    }
    let deadline = Instant::now() + slowly(Duration::from_secs(10));
    loop {
        let left = Left::behind(&world);
        if left.is_no_more_than(&before) {
            break;
        }
        assert!(Instant::now() < deadline, "{left:?} is left, and there was {before:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    match namespaces {
        Some(namespaces) => no_namespace_is_left_to_root(namespaces + cycles / 10),
        None => no_namespace_is_left_to_a_user(&mut world),
    }
}

/// What the kernel counts: as many network namespaces may exist as before. There is room for those of
/// others on this machine, and not for one of every cage.
fn no_namespace_is_left_to_root(most: u64) {
    let deadline = Instant::now() + slowly(Duration::from_secs(60));
    while network_namespaces().is_some_and(|count| count > most) {
        let count = network_namespaces();
        assert!(Instant::now() < deadline, "{count:?} network namespaces, {most} expected");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The two of this world and the one of a cage are all that may exist, and then a cage has one.
fn no_namespace_is_left_to_a_user(world: &mut World) {
    world.allow_namespaces(2);
    assert_ne!(world.shell(&["web.example"], "true").ended.code, 0, "nobody counts namespaces");
    world.allow_namespaces(3);
    until(|| world.shell(&["web.example"], "true").ended.code == 0);
}

/// Network namespaces that exist on this machine, whether a process is in them or not. Only root is
/// told.
fn network_namespaces() -> Option<u64> {
    if !is_root() {
        return None;
    }
    // The kernel frees the memory of a namespace when it takes down the next.
    for _ in 0..2 {
        std::process::Command::new("unshare").args(["--net", "true"]).status().unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    // Free memory that a processor keeps for itself counts as used until it is asked for.
    let _as_it_is = fs::write("/sys/kernel/slab/net_namespace/shrink", "1");
    let caches = fs::read_to_string("/proc/slabinfo").ok()?;
    let of_namespaces = caches.lines().find_map(|line| line.strip_prefix("net_namespace "))?;
    of_namespaces.split_whitespace().next()?.parse().ok()
}

/// What cages could leave.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    processes: Vec<String>,
    sockets: String,
}

impl Left {
    /// Whether nothing was added. Fewer sockets than before are none that a cage left.
    fn is_no_more_than(&self, before: &Self) -> bool {
        let numbers = |sockets: &str| -> Vec<u64> {
            sockets
                .split_whitespace()
                .filter_map(|word| word.trim_end_matches(',').parse().ok())
                .collect()
        };
        let (now, then) = (numbers(&self.sockets), numbers(&before.sockets));
        let no_more =
            now.len() == then.len() && now.iter().zip(&then).all(|(now, then)| now <= then);
        self.processes.is_empty() && no_more
    }

    fn behind(world: &World) -> Self {
        let marker = format!("{MARKER}{}", std::process::id());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let command_line = |path: std::path::PathBuf| {
            let text = fs::read(path.join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| text.contains(&marker))
        };
        let sockets = world.uncaged_shell("grep -E '^(TCP|UDP|RAW)' /proc/net/sockstat");
        // Connections that have ended are remembered for a minute. Pages for buffers are those of the
        // whole machine, and each processor keeps up to a mebibyte of them for no socket.
        let inuse = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        Self {
            processes: entries.filter_map(|entry| command_line(entry.path())).collect(),
            sockets: sockets.stdout.lines().map(inuse).collect::<Vec<String>>().join(", "),
        }
    }
}

/// The child of a supervisor that is in no process namespace of its own.
pub(crate) fn gatekeeper_of(supervisor: &Child) -> Option<Pid> {
    let pid = supervisor.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let outside = |child: &&str| {
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        numbers.is_some_and(|numbers| numbers.split_whitespace().count() == 1)
    };
    Pid::from_raw(children.split_whitespace().find(outside)?.parse().ok()?)
}

#[track_caller]
fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + slowly(Duration::from_secs(10));
    while !condition() {
        assert!(Instant::now() < deadline, "it did not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const MARKER: &str = "stockade-network-cycle-";
