//! The second disk of the machine: the built programs, the project's files and what to do with them.
//! Built anew for every machine, without root.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::orders::{Orders, StagedTests};
use super::passes;
use crate::command::Failure;
use crate::deadline;
use crate::suite::{self, Built};

/// The disk; removed when dropped.
pub(super) struct Payload {
    directory: tempfile::TempDir,
}

impl Payload {
    /// A disk with `stockade` and orders that need no test.
    pub(super) fn with_orders(root: &Path, orders: &Orders) -> Result<Self, Failure> {
        Self::write(root, &[PROGRAM], Built::default(), orders)
    }

    /// A disk with the benchmark of the daemon, and orders to run it.
    pub(super) fn with_benchmark(root: &Path, words: &[String]) -> Result<Self, Failure> {
        let command = [&[BENCHMARK.to_owned()], words].concat();
        Self::write(root, &[PROGRAM, BENCHMARK], Built::default(), &Orders::Command(command))
    }

    /// A disk with the tests that have one of the words in their names, or with those that need the
    /// machine.
    pub(super) fn with_tests(root: &Path, words: &[String]) -> Result<Self, Failure> {
        let built = suite::build_packages(root, passes::PACKAGES)?;
        let (passes, mut words): (Vec<String>, Vec<String>) =
            words.iter().cloned().partition(|word| passes::is_one(word));
        if words.is_empty() {
            words.extend(passes::WORDS.iter().map(|word| (*word).to_owned()));
        }
        let staged = |binary: &suite::TestBinary| StagedTests {
            package: binary.package.clone(),
            target: binary.target.clone(),
            program: binary.executable.file_name().map(PathBuf::from).unwrap_or_default(),
            directory: binary
                .directory
                .strip_prefix(root)
                .map(Path::to_path_buf)
                .unwrap_or_default(),
        };
        let binaries = built.tests.iter().map(staged).collect();
        Self::write(root, &[PROGRAM], built, &Orders::Tests { binaries, words, passes })
    }

    /// The disk's file.
    pub(super) fn disk(&self) -> PathBuf {
        self.directory.path().join("payload.ext4")
    }

    fn write(
        root: &Path,
        packages: &[&str],
        built: Built,
        orders: &Orders,
    ) -> Result<Self, Failure> {
        // Without hardware support the machine is so slow that the difference counts.
        let released = suite::build_released(root, "release", packages)?;
        let payload = Self { directory: tempfile::Builder::new().prefix("xtask-vm-").tempdir()? };
        let contents = payload.directory.path().join("contents");
        let programs = contents.join("programs");
        fs::create_dir_all(&programs)?;
        for directory in [&contents, &programs] {
            fs::set_permissions(directory, Permissions::from_mode(0o755))?;
        }
        suite::copy_tree(root, &contents.join("project"))?;
        fs::copy(std::env::current_exe()?, programs.join("xtask"))?;
        let tests = built.tests.iter().map(|test| &test.executable);
        for executable in released.iter().chain(tests).chain(&built.embed) {
            fs::copy(executable, programs.join(executable.file_name().unwrap_or_default()))?;
        }
        fs::write(contents.join("orders.json"), serde_json::to_vec(orders)?)?;
        payload.make_disk(&contents)?;
        fs::remove_dir_all(contents)?;
        Ok(payload)
    }

    fn make_disk(&self, contents: &Path) -> Result<(), Failure> {
        let megabytes = size(contents)? / MEGABYTE;
        // File system structures take a part; the rest is for whatever is written inside.
        let megabytes = megabytes + megabytes / 8 + 128;
        fs::File::create(self.disk())?.set_len(megabytes * MEGABYTE)?;
        let mut command = Command::new("mke2fs");
        command.args(["-q", "-F", "-t", "ext4", "-m", "0", "-d"]).arg(contents).arg(self.disk());
        deadline::succeed(&mut command, LONGEST)
    }
}

/// Bytes of all files below a directory.
fn size(directory: &Path) -> Result<u64, Failure> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += match metadata.is_dir() {
            true => size(&entry.path())?,
            // Files fill whole blocks.
            false => metadata.len().next_multiple_of(4096),
        };
    }
    Ok(sum)
}

/// The package that has the program.
const PROGRAM: &str = "stockade-cli";
/// The benchmark that needs systemd for one of its measures: a package with a program of that name.
const BENCHMARK: &str = "stockade-bench-supervise";
const MEGABYTE: u64 = 1024 * 1024;
const LONGEST: Duration = Duration::from_secs(5 * 60);
