//! `kill -9` of the daemon, of its launchers, of the gatekeeper and of first processes of cages, at
//! random moments while clients start programs: no cage outlives its daemon, the record is whole,
//! nothing that a client was told is missing in it, and nothing is left after the next start.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use daemon::client::Client;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde_json::{Value, json};

use crate::remains::{
    KEPT_SESSION, Process, kernel_objects, mount_table, no_process_is_left, nothing_is_left,
};
use crate::serving::{Place, Serving, eventually, has};

/// K156, K192, K219, K239, T54, T62. `STOCKADE_DEATHS` sets how often something is killed.
#[test]
fn deaths_at_random_moments_under_load() {
    if !has("bash") {
        return;
    }
    let rounds: usize = std::env::var("STOCKADE_DEATHS")
        .ok()
        .filter(|text| !text.is_empty())
        .map_or(12, |text| text.parse().unwrap());
    let mut dice = Dice(u64::from(std::process::id()) | 1 << 40);
    let before = kernel_objects();
    let mut killed: HashMap<Victim, usize> = HashMap::new();
    let mut told = 0;
    let mut left = rounds;
    while left > 0 {
        // A log of its own for each, so that reading all of it stays short.
        let some = left.min(ROUNDS_OF_A_PLACE);
        left -= some;
        told += Place::new().deaths(deal(some, &mut dice), &mut dice, &mut killed);
    }
    eprintln!("killed: {killed:?}; {told} starts that clients were told of are on record");
    assert!(told >= rounds, "there was no load");
    let is_settled = || {
        let now = kernel_objects();
        before.iter().all(|(kind, count)| now[kind] <= count + 16 + rounds / 4)
    };
    eventually("the kernel holds no more than before", is_settled);
}

/// What can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Victim {
    Daemon,
    /// Before it serves.
    StartingDaemon,
    /// The process that starts cages.
    Launcher,
    /// The process that starts gatekeepers.
    GatekeeperLauncher,
    Gatekeeper,
    FirstProcess,
}

/// Who is killed, in which order: all kinds equally often.
fn deal(rounds: usize, dice: &mut Dice) -> Vec<Victim> {
    let launchers = [Victim::Launcher, Victim::Launcher, Victim::GatekeeperLauncher];
    let daemons = [Victim::Daemon, Victim::Daemon, Victim::StartingDaemon];
    let mut dealt: Vec<Victim> = (0..rounds)
        .map(|round| match round % 4 {
            0 => daemons[dice.below(3)],
            1 => launchers[dice.below(3)],
            2 => Victim::Gatekeeper,
            _ => Victim::FirstProcess,
        })
        .collect();
    for last in (1..dealt.len()).rev() {
        dealt.swap(last, dice.below(last + 1));
    }
    dealt
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn pause(&mut self, most: usize) {
        std::thread::sleep(Duration::from_micros(self.below(most * 1000).try_into().unwrap()));
    }
}

/// What clients were told.
#[derive(Default)]
struct Reported {
    started: HashSet<String>,
    ended: HashSet<String>,
}

impl Place {
    /// Daemons that are killed here, one after the other. Returns how many starts clients were told of.
    fn deaths(
        self,
        victims: Vec<Victim>,
        dice: &mut Dice,
        killed: &mut HashMap<Victim, usize>,
    ) -> usize {
        let mark = format!("7{:06}.{}", std::process::id(), dice.below(1000));
        let (mounts, reported) = (mount_table(), Mutex::new(Reported::default()));
        let mut victims = victims.into_iter();
        let (mut dead, mut place) = (Vec::new(), self);
        loop {
            let serving = place.serving(&[]);
            after_the_start(&serving, &dead, &mounts);
            let pid = serving.pid();
            let last = life(&serving, &mut victims, dice, killed, (&mark, &reported));
            if last.is_none() {
                serving.signal(Signal::TERM);
            }
            let expected = match last {
                Some(Victim::Daemon | Victim::StartingDaemon) => 1009,
                Some(_) => 122,
                None => 0,
            };
            let (code, said, left) = serving.end();
            assert_eq!(code, expected, "{last:?}: {said}");
            place = left;
            dead.push(pid);
            after_a_death(&place, &mark, &reported);
            match last {
                None => return reported.into_inner().unwrap().started.len(),
                Some(Victim::StartingDaemon) => {
                    dead.push(killed_at_its_start(&place, dice));
                    after_a_death(&place, &mark, &reported);
                }
                Some(_) => {}
            }
        }
    }
}

/// The life of a daemon under load, until a kill that it does not survive, if there is one.
fn life(
    serving: &Serving,
    victims: &mut impl Iterator<Item = Victim>,
    dice: &mut Dice,
    killed: &mut HashMap<Victim, usize>,
    (mark, reported): (&str, &Mutex<Reported>),
) -> Option<Victim> {
    let greeter = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = greeter.local_addr().unwrap().port();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| greet(&greeter, &done));
        for number in 0..CLIENTS {
            let client = Load { serving, number, mark, port, reported, done: &done };
            let dice = Dice(dice.0.rotate_left(7) ^ (u64::try_from(number).unwrap() << 20 | 1));
            scope.spawn(move || client.run(dice));
        }
        // Also where an assertion fails: the scope waits for all of them.
        let until_here = AtTheEnd(|| {
            done.store(true, Ordering::Relaxed);
            let _woken = std::net::TcpStream::connect(("127.0.0.1", port));
        });
        let end = victims.find(|victim| {
            dice.pause(120);
            kill(serving, *victim, dice);
            *killed.entry(*victim).or_default() += 1;
            match victim {
                Victim::Gatekeeper => !is_networked_again(serving, port),
                Victim::FirstProcess => serving.get("/v1/health")["status"] != "ok",
                _ => true,
            }
        });
        drop(until_here);
        end
    })
}

/// Something that is done however a test comes to its end.
struct AtTheEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Kills one process of a daemon, which is waited for where it comes and goes.
fn kill(serving: &Serving, victim: Victim, dice: &mut Dice) {
    let deadline = Instant::now() + testing::slowly(Duration::from_secs(30));
    loop {
        let helpers = Process::children(serving.pid());
        let below = || helpers.iter().flat_map(|helper| Process::children(helper.pid));
        let found: Vec<Process> = match victim {
            Victim::Daemon | Victim::StartingDaemon => {
                Process::of(serving.pid()).into_iter().collect()
            }
            // The one that started first is the gatekeepers' alone.
            Victim::GatekeeperLauncher => {
                helpers.iter().min_by_key(|one| one.pid).cloned().into_iter().collect()
            }
            Victim::Launcher => {
                let first = helpers.iter().map(|one| one.pid).min();
                helpers.iter().filter(|one| Some(one.pid) != first).cloned().collect()
            }
            Victim::Gatekeeper => below().filter(|one| one.name == "stockade-gate").collect(),
            Victim::FirstProcess => below().filter(|one| one.is_first).collect(),
        };
        if !found.is_empty() && is_killed(&found[dice.below(found.len())]) {
            return;
        }
        assert!(Instant::now() < deadline, "no {victim:?}: {}", serving.said());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills exactly this process, and none that has got its number.
fn is_killed(process: &Process) -> bool {
    let pid = Pid::from_raw(process.pid.try_into().unwrap()).unwrap();
    let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    Process::of(process.pid).is_some_and(|now| now.parent == process.parent)
        && rustix::process::pidfd_send_signal(&handle, Signal::KILL).is_ok()
}

/// Starts a daemon and kills it before long, wherever it is by then.
fn killed_at_its_start(place: &Place, dice: &mut Dice) -> u32 {
    let mut starting = place.serve(&[]).stderr(std::process::Stdio::null()).spawn().unwrap();
    dice.pause(80);
    starting.kill().unwrap();
    starting.wait().unwrap();
    starting.id()
}

/// One client of a daemon.
struct Load<'test> {
    serving: &'test Serving,
    number: usize,
    mark: &'test str,
    port: u16,
    reported: &'test Mutex<Reported>,
    done: &'test AtomicBool,
}

impl Load<'_> {
    fn run(&self, mut dice: Dice) {
        let client = Client::at(&self.serving.place.socket());
        let mut limits_hold = true;
        while !self.done.load(Ordering::Relaxed) {
            match client.ask("POST", "/v1/cages", Some(&self.request(limits_hold, &mut dice))) {
                Ok(cage) => self.use_cage(&client, &cage, &mut dice),
                Err(daemon::client::ClientError::Refused { code, .. }) => {
                    // A user may be unable to hold limits; a gatekeeper may have died meanwhile.
                    limits_hold &= code != "limits_unavailable";
                }
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Programs that leave others running, and end at once, soon, or never.
    fn request(&self, limits_hold: bool, dice: &mut Dice) -> Value {
        let Self { mark, port, .. } = self;
        let leave = format!("(setsid sleep {mark} &)");
        let rest = ["exit 0", "sleep 0.03", &format!("sleep {mark}")][dice.below(3)].to_owned();
        let line = |first: &str| json!(["bash", "-c", format!("{leave}; {first} {rest}")]);
        let project = &self.serving.place.project;
        let mut request = json!({ "project": project, "argv": line(""), "environment": {} });
        match self.number % 4 {
            0 => request["rules"] = json!({ "rw": ["."] }),
            1 => {
                request["argv"] = line(&format!("cat < /dev/tcp/127.0.0.1/{port};"));
                request["rules"] = json!({ "host_ports": [port] });
            }
            2 if limits_hold => request["rules"] = json!({ "memory": "64M", "pids": 50 }),
            2 => {}
            _ => {
                request["argv"] = line("echo x > /scratch/$$;");
                request["rules"] = json!({ "state": "scratch" });
                if dice.below(2) == 0 {
                    request["session"] = json!(KEPT_SESSION);
                }
            }
        }
        request
    }

    /// Waits for a program's end, has it ended, or leaves it to itself.
    fn use_cage(&self, client: &Client, cage: &Value, dice: &mut Dice) {
        let id = cage["id"].as_str().unwrap();
        self.reported.lock().unwrap().started.insert(id.to_owned());
        let answer = match dice.below(8) {
            0 => return,
            1 if self.number % 4 == 3 => {
                client.ask("DELETE", &format!("/v1/sessions/{KEPT_SESSION}"), None)
            }
            2..5 => client.get(&format!("/v1/cages/{id}/wait?timeout_ms=60")),
            _ => client.ask("DELETE", &format!("/v1/cages/{id}"), None),
        };
        if answer.is_ok_and(|answer| answer["id"] == id && answer["state"] == "ended") {
            self.reported.lock().unwrap().ended.insert(id.to_owned());
        }
    }
}

/// Says hello to everybody.
fn greet(listener: &TcpListener, done: &AtomicBool) {
    for stream in listener.incoming() {
        if done.load(Ordering::Relaxed) {
            return;
        }
        let _gone = stream.map(|mut stream| stream.write_all(b"hello\n"));
    }
}

/// Whether a program gets through a gatekeeper, after another one was killed.
fn is_networked_again(serving: &Serving, port: u16) -> bool {
    let mut request = serving.shell("");
    request["argv"] = json!(["bash", "-c", format!("cat < /dev/tcp/127.0.0.1/{port}")]);
    request["rules"] = json!({ "host_ports": [port] });
    let id = serving.spawn(&request);
    serving.wait(&id);
    serving.output(&id, "stdout") == "hello\n"
}

/// The next daemon has swept, and works.
fn after_the_start(serving: &Serving, dead: &[u32], mounts: &BTreeSet<String>) {
    nothing_is_left(&serving.place, dead, mounts);
    let cage = serving.wait(&serving.spawn(&serving.shell("exit 3")));
    assert_eq!(cage["end"]["exit_code"], 3, "{cage:#}");
}

/// Nothing runs, and the record is whole and has everything that clients were told.
fn after_a_death(place: &Place, mark: &str, reported: &Mutex<Reported>) {
    no_process_is_left(place, mark);
    let verified = place.stockade().args(["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let recorded = recorded(place);
    let reported = reported.lock().unwrap();
    let started = ["subagent.intent", "subagent.spawn"].map(|event| (event, &reported.started));
    for (event, ids) in started.into_iter().chain([("subagent.exit", &reported.ended)]) {
        let lost: Vec<&String> = ids.iter().filter(|id| !recorded[event].contains(*id)).collect();
        assert!(lost.is_empty(), "{event}: {lost:?}");
    }
}

/// Which programs each event was recorded of.
fn recorded(place: &Place) -> HashMap<&'static str, HashSet<String>> {
    let directory = place.state().join("stockade/audit");
    let reader = audit::Reader::open(&directory).unwrap();
    let mut recorded: HashMap<&'static str, HashSet<String>> = HashMap::new();
    for event in ["subagent.intent", "subagent.spawn", "subagent.exit"] {
        recorded.insert(event, HashSet::new());
    }
    for record in reader.records(audit::Filter::default()) {
        let record = record.unwrap();
        let id = record.text("invocation_id").unwrap_or_default().to_owned();
        if let Some(ids) = recorded.get_mut(record.name.as_str()) {
            ids.insert(id);
        }
    }
    recorded
}

const CLIENTS: usize = 8;
const ROUNDS_OF_A_PLACE: usize = 50;
