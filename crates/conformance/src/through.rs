//! The suite on what is mounted somewhere. A process of its own has its root there, so that `/`, `..` and links mean what
//! they mean in an engine: the test program, started once more. What it does and what comes of it is a report, which is
//! compared with that of the same operations on tmpfs.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use vfs::Kind;

use crate::families;
use crate::kernel::World;
use crate::operation::{Answer, Call, Operation, Outcome, Stat, System as _, everything};
use crate::random::Random;

/// Whether holes are told apart from data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holes {
    /// They are.
    Told,
    /// Every file is data to its end, as a file system may say.
    Untold,
}

/// What is to be done there.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Every family.
    Families,
    /// Random operations in sequences of this length, from this seed on.
    Random { first_seed: u64, sequences: u64, length: u64, holes: Holes },
    /// The same, but for what no store far away can do.
    FarAway { first_seed: u64, sequences: u64, length: u64 },
}

/// The test that does the work, when it is started for that: it must be called `worker` and call nothing else.
///
/// # Panics
/// If what it is told makes no sense.
pub fn work_if_asked() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let report = std::env::var_os(REPORT).unwrap();
    let task = std::env::var(TASK).unwrap();
    let mut report = BufWriter::new(File::create(report).unwrap());
    let world = World::enter_at(Path::new(&root));
    let numbers: Vec<u64> = task.split(' ').filter_map(|word| word.parse().ok()).collect();
    if let [first, sequences, length] = numbers[..] {
        for seed in first..first + sequences {
            let random = Random::new(seed);
            let random = if task.starts_with(FAR_AWAY) { random.of_far_away() } else { random };
            let holes = if task.ends_with(HOLES) { Holes::Told } else { Holes::Untold };
            perform(&world, (seed, random), (length, holes), &mut report);
        }
    } else {
        for failure in families::failures(&mut || world.empty_kernel()) {
            writeln!(report, "{failure}").unwrap();
        }
    }
    report.flush().unwrap();
}

fn perform(
    world: &World,
    (seed, random): (u64, Random),
    (length, holes): (u64, Holes),
    report: &mut impl std::io::Write,
) {
    let mut kernel = world.empty_kernel();
    let mut random = if holes == Holes::Told { random } else { random.without_seeks() };
    let plain = |outcome| plain(outcome, holes);
    let mut tell = |what: &str, outcome: &str| {
        let mut hasher = DefaultHasher::new();
        outcome.hash(&mut hasher);
        writeln!(report, "{seed} {what:.200} -> {outcome:.200} {:x}", hasher.finish()).unwrap();
    };
    for _ in 0..length {
        let operation = Operation::random(&mut random);
        let mut outcome = plain(kernel.run(&operation));
        if let Call::SetOwner(_, None, None, _) = operation.call {
            // A stranger's is `EPERM` if the file is setuid: FUSE does not pass the question on.
            outcome = Ok(Answer::Nothing);
        }
        tell(&format!("{operation:?}"), &format!("{outcome:?}"));
    }
    for (path, what, outcome) in everything(&mut kernel) {
        let path = String::from_utf8_lossy(&path).into_owned();
        tell(&format!("{what} {path}"), &format!("{:?}", plain(outcome)));
    }
}

/// Without the setgid bit of a file that its group cannot execute, which means nothing: whether a write takes it away
/// depends on groups of the writer that the kernel does not tell a file system of. And without what a file takes, where
/// the kernel has not handed it over yet.
fn plain(outcome: Outcome, holes: Holes) -> Outcome {
    outcome.map(|answer| match answer {
        Answer::Stat(stat) => {
            let says_nothing = stat.kind != Kind::Directory && stat.mode & 0o2010 == 0o2000;
            let mode = if says_nothing { stat.mode & !0o2000 } else { stat.mode };
            let blocks = if holes == Holes::Told { stat.blocks } else { 0 };
            Answer::Stat(Stat { mode, blocks, ..stat })
        }
        answer => answer,
    })
}

/// What comes of a task in a directory.
///
/// # Panics
/// If the process that does it fails.
pub fn report(root: &Path, task: Task) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let task = match task {
        Task::Families => "families".to_owned(),
        Task::Random { first_seed, sequences, length, holes } => {
            let holes = if holes == Holes::Told { HOLES } else { "" };
            format!("random {first_seed} {sequences} {length} {holes}")
        }
        Task::FarAway { first_seed, sequences, length } => {
            format!("{FAR_AWAY} {first_seed} {sequences} {length}")
        }
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker", "--nocapture"]);
    command.env(ROOT, root).env(REPORT, file.path()).env(TASK, task);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(file.path()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Holds what is mounted on a directory to the tables, and to tmpfs under random operations.
///
/// # Panics
/// Where they differ, with what came before.
pub fn compare_with_tmpfs(what: &str, root: &Path, task: Task, holes: Holes) {
    let tmpfs = tempfile::tempdir_in("/dev/shm").unwrap();
    rustix::fs::chmod(tmpfs.path(), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    let (expected, mut found) = (report(tmpfs.path(), task), report(root, task));
    // What a table says of holes.
    found.retain(|line| holes == Holes::Told || !line.contains("`seek "));
    if matches!(task, Task::Families) {
        assert!(expected.is_empty(), "the tables are wrong:\n{}", expected.join("\n"));
    }
    for (number, (one, other)) in expected.iter().zip(&found).enumerate() {
        if one != other {
            let before = expected[number.saturating_sub(25)..number].join("\n");
            panic!("{what}:\n{before}\n  tmpfs {one}\n  ours  {other}");
        }
    }
    let more = found.get(expected.len()..).unwrap_or_default();
    assert!(more.is_empty(), "{what}:\n{}", more.join("\n"));
    assert_eq!(expected.len(), found.len(), "{what}");
}

const FAR_AWAY: &str = "far-away";
const HOLES: &str = "holes";
const ROOT: &str = "STOCKADE_CONFORMANCE_ROOT";
const REPORT: &str = "STOCKADE_CONFORMANCE_REPORT";
const TASK: &str = "STOCKADE_CONFORMANCE_TASK";
