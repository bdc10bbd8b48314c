//! The suite on what is mounted somewhere. A process of its own has its root there, so that `/`, `..` and links mean what
//! they mean in an engine: the test program, started once more. What it does and what comes of it is a report, which is
//! compared with that of the same operations on tmpfs.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use crate::families;
use crate::kernel::World;
use crate::operation::{Operation, System as _, everything};
use crate::random::Random;

/// What is to be done there.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Every family.
    Families,
    /// Random operations in sequences of this length, from this seed on.
    Random { first_seed: u64, sequences: u64, length: u64 },
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
            random(&world, seed, length, &mut report);
        }
    } else {
        for failure in families::failures(&mut || world.empty_kernel()) {
            writeln!(report, "{failure}").unwrap();
        }
    }
    report.flush().unwrap();
}

fn random(world: &World, seed: u64, length: u64, report: &mut impl std::io::Write) {
    let mut kernel = world.empty_kernel();
    let mut random = Random::new(seed);
    let mut tell = |what: &str, outcome: &str| {
        let mut hasher = DefaultHasher::new();
        outcome.hash(&mut hasher);
        writeln!(report, "{seed} {what:.200} -> {outcome:.200} {:x}", hasher.finish()).unwrap();
    };
    for _ in 0..length {
        let operation = Operation::random(&mut random);
        let outcome = kernel.run(&operation);
        tell(&format!("{operation:?}"), &format!("{outcome:?}"));
    }
    for (path, what, outcome) in everything(&mut kernel) {
        let path = String::from_utf8_lossy(&path).into_owned();
        tell(&format!("{what} {path}"), &format!("{outcome:?}"));
    }
}

/// What comes of a task in a directory.
///
/// # Panics
/// If the process that does it fails.
pub fn report(root: &Path, task: Task) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let task = match task {
        Task::Families => "families".to_owned(),
        Task::Random { first_seed, sequences, length } => {
            format!("random {first_seed} {sequences} {length}")
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
pub fn compare_with_tmpfs(what: &str, root: &Path, task: Task) {
    let tmpfs = tempfile::tempdir_in("/dev/shm").unwrap();
    rustix::fs::chmod(tmpfs.path(), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    let (expected, found) = (report(tmpfs.path(), task), report(root, task));
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

const ROOT: &str = "STOCKADE_CONFORMANCE_ROOT";
const REPORT: &str = "STOCKADE_CONFORMANCE_REPORT";
const TASK: &str = "STOCKADE_CONFORMANCE_TASK";
