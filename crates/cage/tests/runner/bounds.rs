//! Limits, sessions and the network of a runner's cages.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use audit::{Event, Limit, Reason};
use cage::runner::{Request, Runner};
use cage::session::{SessionId, Sessions};
use plan::{HostPath, LimitsPlan};
use policy::{Policy, RuleOrigin, State};

use crate::support::{eventually, prepared, runner, small, stdout_of, with_policy};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("want_of_memory_ends_the_whole_cage", want_of_memory_ends_the_whole_cage),
    ("limits_that_cannot_be_held_are_refused", limits_that_cannot_be_held_are_refused),
    ("a_session_of_one_run_ends_with_it", a_session_of_one_run_ends_with_it),
    ("one_gatekeeper_serves_all_cages", one_gatekeeper_serves_all_cages),
    ("another_gatekeeper_follows_a_dead_one", another_gatekeeper_follows_a_dead_one),
    ("a_session_that_is_ended_takes_its_programs", a_session_that_is_ended_takes_its_programs),
];

/// Whether this user may make control groups here.
pub(crate) fn limits_can_be_held() -> bool {
    limits::Limiter::discover().layer().missing.is_empty()
}

/// K169, K188, K196, K204
fn want_of_memory_ends_the_whole_cage() {
    if !limits_can_be_held() {
        return testing::skip("no limits can be held here");
    }
    let runner = runner();
    let script = "sleep 1000 & x=0123456789abcdef; while :; do x=$x$x; done";
    let mut hungry = small(&["sh", "-c", script]);
    Arc::make_mut(&mut hungry.plan).walls.limits =
        LimitsPlan { memory_mb: Some(32), ..LimitsPlan::default() };
    let ended = runner.spawn(hungry.into()).unwrap().wait();
    assert_eq!((ended.reason.word(), ended.exit_code()), ("oom", 137));
    assert!(ended.usage.unwrap().memory_peak.unwrap() <= 32 << 20);
    let events = runner.close();
    let violated =
        |event: &Event| matches!(event, Event::PolicyViolation { limit: Limit::Memory, .. });
    assert!(events.iter().any(violated), "{events:?}");
    let killed = |event: &Event| matches!(event, Event::SubagentKilled { reason: Reason::Oom, .. });
    assert!(events.iter().any(killed), "{events:?}");
}

/// K182
fn limits_that_cannot_be_held_are_refused() {
    if limits_can_be_held() {
        return testing::skip("limits can be held here");
    }
    let runner = runner();
    let mut limited = small(&["true"]);
    Arc::make_mut(&mut limited.plan).walls.limits =
        LimitsPlan { memory_mb: Some(64), ..LimitsPlan::default() };
    let error = runner.spawn(limited.into()).unwrap_err();
    assert_eq!(error.kind().word(), "limits_unavailable", "{error}");
}

fn in_session(sessions: &Sessions, id: Option<&str>, script: &str) -> Request {
    let session = match id {
        Some(id) => sessions.enter(&SessionId::parse(id).unwrap()).unwrap(),
        None => sessions.begin_for_one_run().unwrap(),
    };
    let policy = Policy { state: State::Scratch, ..Policy::closed("test") };
    let scratch = session.scratch().clone();
    let prepared = prepared(policy, &["sh", "-c", script], |surroundings| {
        surroundings.kept.scratch = Some(scratch)
    });
    Request { session: Some(session), ..Request::from(prepared) }
}

/// K177
fn a_session_of_one_run_ends_with_it() {
    let runner = runner();
    let state = HostPath::new(runner.state.path().canonicalize().unwrap().into_os_string());
    let sessions = Sessions::open(&state.unwrap()).unwrap();
    let kept = in_session(&sessions, Some("kept"), "echo here > /scratch/note");
    assert!(runner.spawn(kept).unwrap().wait().is_success());
    let again = in_session(&sessions, Some("kept"), "cat /scratch/note; mkdir -p /scratch/a/b");
    let handle = runner.spawn(again).unwrap();
    assert_eq!(stdout_of(&handle), "here\n");
    assert_eq!(handle.labels().session_id.as_deref(), Some("kept"));
    assert!(handle.wait().is_success());
    let once = in_session(&sessions, None, "echo gone > /scratch/note");
    assert!(runner.spawn(once).unwrap().wait().is_success());
    let failed = in_session(&sessions, None, "true");
    let failed = Request { confinement: Request::from(small(&["/nowhere"])).confinement, ..failed };
    runner.spawn(failed).unwrap_err();
    let names: Vec<String> =
        sessions.list().unwrap().iter().map(|one| one.id.to_string()).collect();
    assert_eq!(names, ["kept"]);
    assert!(sessions.list().unwrap()[0].processes.is_empty());
}

/// K163
fn a_session_that_is_ended_takes_its_programs() {
    let runner = runner();
    let state = HostPath::new(runner.state.path().canonicalize().unwrap().into_os_string());
    let sessions = Sessions::open(&state.unwrap()).unwrap();
    let handle = runner.spawn(in_session(&sessions, Some("one"), "sleep 1000")).unwrap();
    let other = runner.spawn(in_session(&sessions, Some("other"), "sleep 1000")).unwrap();
    assert_eq!(runner.heed_session_ends(), 0);
    let before = sys::signal::block(&sys::signal::SignalSet::of(&[libc::SIGTERM])).unwrap();
    let ending = {
        let sessions = sessions.clone();
        std::thread::spawn(move || sessions.end(&SessionId::parse("one").unwrap()).unwrap())
    };
    eventually("the end has begun", || runner.heed_session_ends() == 1);
    assert_eq!(handle.wait().reason.word(), "session_ended");
    assert_eq!(ending.join().unwrap(), 1);
    assert!(other.try_wait().is_none());
    sys::signal::ignore(libc::SIGTERM).unwrap();
    sys::signal::set_mask(&before).unwrap();
    sys::signal::restore_default(libc::SIGTERM).unwrap();
}

/// A cage that reaches one port of the host's loopback.
pub(crate) fn networked(port: u16, script: &str) -> Request {
    let mut policy = Policy::closed("test");
    policy.net.host_ports.insert(port, RuleOrigin::BuiltIn("a test"));
    Request::from(with_policy(policy, &["bash", "-c", script]))
}

/// A server on the host's loopback that says hello to everybody.
pub(crate) struct Greeter {
    pub(crate) port: u16,
    thread: Option<std::thread::JoinHandle<()>>,
    closing: Arc<AtomicBool>,
}

impl Greeter {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let greet = move || {
            for stream in listener.incoming() {
                if is_closing.load(Ordering::Relaxed) {
                    return;
                }
                let _gone = stream.unwrap().write_all(b"hello\n");
            }
        };
        Self { port, thread: Some(std::thread::spawn(greet)), closing }
    }
}

impl Drop for Greeter {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        let _woken = std::net::TcpStream::connect(("127.0.0.1", self.port));
        self.thread.take().unwrap().join().unwrap();
    }
}

fn greeting(runner: &Runner, port: u16) -> String {
    let script = format!("cat < /dev/tcp/127.0.0.1/{port}");
    let handle = runner.spawn(networked(port, &script)).unwrap();
    handle.wait();
    stdout_of(&handle)
}

/// K15, K176, K198
fn one_gatekeeper_serves_all_cages() {
    if !testing::has("bash") {
        return;
    }
    let runner = runner();
    let greeter = Greeter::start();
    let port = greeter.port;
    assert_eq!(runner.gatekeeper_pid(), None);
    assert_eq!(greeting(&runner, port), "hello\n");
    let gatekeeper = runner.gatekeeper_pid().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(greeting(&runner, port), "hello\n"));
        }
    });
    assert_eq!(runner.gatekeeper_pid(), Some(gatekeeper));
    let asking = networked(port, "getent hosts evil.example; exit 6");
    let ended = runner.spawn(asking).unwrap().wait();
    let network = ended.network.as_ref().unwrap();
    assert_eq!((ended.exit_code(), network.end), (6, cage::NetworkEnd::WithCage));
    assert!(network.account.counters.dns_denied >= 1);
    let events = runner.close();
    let denied = |event: &Event| {
        matches!(event, Event::GatekeeperDnsDenied { hostname, .. }
            if hostname.as_str() == "evil.example")
    };
    assert!(events.iter().any(denied), "{events:?}");
    let accounts = |event: &&Event| matches!(event, Event::GatekeeperAccount { .. });
    assert_eq!(events.iter().filter(accounts).count(), 10);
}

/// K192, K220, T54
fn another_gatekeeper_follows_a_dead_one() {
    if !testing::has("bash") {
        return;
    }
    let runner = runner();
    let greeter = Greeter::start();
    let port = greeter.port;
    let script = format!(
        "cat < /dev/tcp/127.0.0.1/{port}; read line; \
         cat < /dev/tcp/127.0.0.1/{port} || echo lost"
    );
    let mut request = networked(port, &script);
    request.streams = crate::output::with_input();
    let handle = runner.spawn(request).unwrap();
    eventually("it was greeted", || handle.stdout().unwrap().kept().end == 6);
    // Told while it runs, and not lost with the gatekeeper.
    let bytes = || handle.network().unwrap().bytes_in;
    eventually("its traffic is told", || bytes() == 6);
    let dead = runner.gatekeeper_pid().unwrap();
    sys::signal::send(dead, libc::SIGKILL).unwrap();
    assert_eq!(greeting(&runner, port), "hello\n");
    assert_ne!(runner.gatekeeper_pid(), Some(dead));
    let mut input = std::fs::File::from(handle.take_stdin().unwrap());
    input.write_all(b"\n").unwrap();
    let ended = handle.wait();
    assert_eq!(stdout_of(&handle), "hello\nlost\n");
    let network = ended.network.as_ref().unwrap();
    assert_eq!(network.end, cage::NetworkEnd::GatekeeperGone);
    let counters = network.account.counters;
    assert_eq!((counters.tcp_allowed, counters.bytes_in), (1, 6));
    let events = runner.close();
    let account = |event: &Event| {
        matches!(event, Event::GatekeeperAccount { invocation_id, bytes_in: 6, .. }
            if invocation_id.as_str() == handle.invocation_id())
    };
    assert!(events.iter().any(account), "{events:?}");
    let lost = |event: &&Event| matches!(event, Event::GatekeeperLost { cages: 1.., .. });
    assert_eq!(events.iter().filter(lost).count(), 1, "{events:?}");
}
