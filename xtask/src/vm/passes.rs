//! The same tests under each manager that a program may be started by: as root and as a user, in a
//! service, in a login, and in a part of the control groups that was handed over where no manager
//! can be asked. Each pass is a unit of its own, so that every test begins where such a program would.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::guest::{PAYLOAD, PROGRAMS, code, orders, slowness};
use super::orders::{Answer, Orders};
use super::restrictions;
use crate::command::{Failure, printed_by};
use crate::deadline;
use crate::suite::{self, Context, Totals};

/// Packages with tests that depend on how control groups are set up, or on what the kernel has.
pub(super) const PACKAGES: &[&str] = &["stockade-limits", "stockade-cli"];
/// Which of their tests are run unless others are asked for.
pub(super) const WORDS: &[&str] = &[
    "limits",
    "walltime::",
    "doctor::",
    "flood",
    "full_disk",
    "on_record",
    "control_groups_of_a_killed_daemon",
    "kernels_client",
];

/// One way to be started.
struct Pass {
    name: &'static str,
    caller: Caller,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Root,
    User,
}

/// Where in the control groups a pass begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a service of the caller's own manager.
    Service,
    /// In a session, as after a login.
    Session,
    /// In a service whose control group is its own, and from which no manager can be reached.
    Delegated,
}

const PASSES: &[Pass] = &[
    Pass { name: "root-service", caller: Caller::Root, place: Place::Service },
    Pass { name: "user-service", caller: Caller::User, place: Place::Service },
    Pass { name: "user-session", caller: Caller::User, place: Place::Session },
    Pass { name: "root-delegated", caller: Caller::Root, place: Place::Delegated },
    Pass { name: "user-delegated", caller: Caller::User, place: Place::Delegated },
];

/// Runs every pass, and what must be refused on restricted systems.
pub(super) fn run_all() -> Result<Totals, Failure> {
    tell_about_machine()?;
    fs::create_dir_all(RESULTS)?;
    fs::set_permissions(RESULTS, Permissions::from_mode(0o1777))?;
    suite::copy_tree(&Path::new(PAYLOAD).join("project"), Path::new(USER_PROJECT))?;
    suite::give_away(Path::new(USER_PROJECT), USER_ID)?;
    let Orders::Tests { passes: wanted, .. } = orders()? else {
        return Err(Failure::Usage("no tests were ordered".to_owned()));
    };
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    let mut totals = Totals::default();
    for pass in PASSES.iter().filter(|pass| is_wanted(pass.name)) {
        println!("== {}", pass.name);
        let started = Instant::now();
        let part = run_apart(pass)?;
        println!("== {}: {part} in {} s", pass.name, started.elapsed().as_secs());
        totals += part;
    }
    if is_wanted(RESTRICTIONS) {
        println!("== {RESTRICTIONS}");
        let part = restrictions::run()?;
        println!("== {RESTRICTIONS}: {part}");
        totals += part;
    }
    Ok(totals)
}

/// Whether a word of the command line names a pass, not a part of the names of tests.
pub(super) fn is_one(word: &str) -> bool {
    word == RESTRICTIONS || PASSES.iter().any(|pass| pass.name == word)
}

/// The body of one pass, in its own unit: what `doctor` says, whether every wall holds, the tests.
pub(crate) fn run_one(name: &str) -> Result<bool, Failure> {
    let pass = PASSES.iter().find(|pass| pass.name == name);
    let pass = pass.ok_or_else(|| Failure::Usage(format!("there is no pass `{name}`")))?;
    if pass.place == Place::Delegated {
        make_way()?;
    }
    println!("control group: {}", fs::read_to_string("/proc/self/cgroup")?.trim());
    let mut totals = Totals::default();
    totals += succeeds(pass, &["doctor"])?;
    // Tests leave out what a caller's limits cannot hold; here every caller's can.
    totals += succeeds(pass, ALL_LIMITS)?;
    // The walls do not depend on the place.
    if pass.place == Place::Service {
        totals += succeeds(pass, &["prove"])?;
    }
    let Orders::Tests { binaries, words, .. } = orders()? else {
        return Err(Failure::Usage("no tests were ordered".to_owned()));
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let context = Context {
        label: pass.name,
        identity: None,
        root: pass.project(),
        environment: None,
        variable: None,
        stockade: Some(Path::new(PROGRAMS).join("stockade")),
        attacker: None,
    };
    let here = binaries.iter().map(|binary| binary.located(Path::new(PROGRAMS), &context.root));
    totals += suite::all_of(&here.collect::<Vec<_>>(), &context, &words)?;
    fs::write(results_of(pass), serde_json::to_vec(&Answer::from(totals))?)?;
    Ok(true)
}

/// A group that hands its controllers on to others has no processes itself: whoever is given one goes
/// into a group below it first, as `stockade` says where that was forgotten.
fn make_way() -> Result<(), Failure> {
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let own = own.trim().trim_start_matches("0::/");
    let below = Path::new("/sys/fs/cgroup").join(own).join("supervisor");
    fs::create_dir_all(&below)?;
    Ok(fs::write(below.join("cgroup.procs"), std::process::id().to_string())?)
}

/// Starts a pass in its unit and reads its results.
fn run_apart(pass: &Pass) -> Result<Totals, Failure> {
    let mut command = pass.unit(&slowness()?);
    let status = deadline::finish(&mut command, LONGEST_PASS)?;
    let results = fs::read(results_of(pass)).ok();
    let results = results.and_then(|text| serde_json::from_slice(&text).ok());
    match (status, results) {
        (Some(status), Some(Answer::Tested(passed, failed, skipped))) if status.success() => {
            Ok(Totals { passed, failed, skipped })
        }
        (status, _) => {
            let how = status.map_or("took too long".to_owned(), |status| status.to_string());
            eprintln!("FAILED {}: the pass came to no end: {how}", pass.name);
            let unit = format!("--unit=pass-{}", pass.name);
            let mut journal = Command::new("journalctl");
            journal.args(["--no-pager", "--lines=40", &unit]);
            deadline::finish(&mut journal, LONGEST_COMMAND)?;
            Ok(Totals { failed: 1, ..Totals::default() })
        }
    }
}

/// Runs `stockade` with words that must succeed, and counts it as one test.
fn succeeds(pass: &Pass, words: &[&str]) -> Result<Totals, Failure> {
    let mut command = Command::new(Path::new(PROGRAMS).join("stockade"));
    command.args(words).current_dir(pass.project());
    let status = deadline::finish(&mut command, LONGEST_COMMAND)?;
    if status.is_some_and(|status| status.success()) {
        return Ok(Totals { passed: 1, ..Totals::default() });
    }
    let how = status.map_or("took too long".to_owned(), |status| code(status).to_string());
    eprintln!("FAILED stockade {} ({}): {how}", words.join(" "), pass.name);
    Ok(Totals { failed: 1, ..Totals::default() })
}

impl Pass {
    /// The command that runs this pass where it belongs.
    fn unit(&self, slowness: &str) -> Command {
        let mut command = Command::new("systemd-run");
        // Not quiet: how the unit ended is told where it did not end well.
        command.args(["--wait", "--pipe", "--collect"]);
        command.arg(format!("--unit=pass-{}", self.name));
        match (self.caller, self.place) {
            (Caller::Root, _) => {}
            (Caller::User, Place::Service) => {
                command.arg("--user").uid(USER_ID).gid(USER_ID);
                command.env("XDG_RUNTIME_DIR", format!("/run/user/{USER_ID}"));
            }
            (Caller::User, _) => {
                command.arg("--uid=tester");
            }
        }
        // Tells at once if the program cannot be started. Not so with a session: the process that
        // systemd leaves behind to close it holds on to the sign that the program was started, and
        // after a minute and a half the start counts as failed.
        command.arg(match self.place {
            Place::Session => "--service-type=simple",
            Place::Service | Place::Delegated => "--service-type=exec",
        });
        match self.place {
            Place::Service => {}
            Place::Session => {
                command.arg("--property=PAMName=login");
            }
            Place::Delegated => {
                command.arg("--property=Delegate=yes");
                for manager in ["/run/dbus", "/run/user", "/run/systemd/private"] {
                    command.arg(format!("--property=InaccessiblePaths={manager}"));
                }
            }
        }
        // Has tests of groups fail where they would be left out.
        command.arg("--setenv=STOCKADE_TEST_DELEGATED=yes");
        command.arg(format!("--setenv=STOCKADE_TEST_SLOWNESS={slowness}"));
        command.arg(Path::new(PROGRAMS).join("xtask")).args(["vm-pass", self.name]);
        command
    }

    fn project(&self) -> PathBuf {
        match self.caller {
            Caller::Root => Path::new(PAYLOAD).join("project"),
            Caller::User => PathBuf::from(USER_PROJECT),
        }
    }
}

fn tell_about_machine() -> Result<(), Failure> {
    let kernel = fs::read_to_string("/proc/version")?;
    let modules = fs::read_to_string("/sys/kernel/security/lsm")?;
    let systemd = printed_by(Command::new("systemctl").arg("--version"))?;
    println!("{}\n{}\nsecurity modules: {modules}", kernel.trim(), systemd.trim());
    Ok(())
}

fn results_of(pass: &Pass) -> PathBuf {
    Path::new(RESULTS).join(pass.name)
}

/// The user without privilege, who has a manager of their own without being logged in.
pub(super) const USER_ID: u32 = 1000;
pub(super) const USER_PROJECT: &str = "/home/tester/project";
const ALL_LIMITS: &[&str] =
    &["run", "--memory", "64M", "--pids", "9", "--cpus", "1", "--time", "1m", "--", "true"];
/// What comes after the passes, named like one of them.
const RESTRICTIONS: &str = "restrictions";
const RESULTS: &str = "/run/stockade-passes";
const LONGEST_PASS: Duration = Duration::from_secs(60 * 60);
const LONGEST_COMMAND: Duration = Duration::from_secs(30 * 60);
