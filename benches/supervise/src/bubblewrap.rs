//! Bubblewrap with the command line that the Plan is rendered to: the same mounts and the same system
//! call filter. What it reads from descriptors is written once and rewound before each start.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use plan::{HostIds, Plan};
use rustix::io::FdFlags;

/// Bubblewrap, ready to run one Plan any number of times.
pub(crate) struct Bubblewrap {
    executable: &'static Path,
    arguments: Vec<String>,
    start_as: HostIds,
    data: Vec<File>,
}

impl Bubblewrap {
    /// Renders the Plan and opens what the command line refers to. Every program that this process
    /// starts inherits these.
    pub(crate) fn new(executable: &'static Path, plan: &Plan) -> io::Result<Self> {
        let command = plan::render::bwrap(plan, FIRST_DESCRIPTOR);
        let mut data = Vec::with_capacity(command.data.len());
        for (number, contents) in &command.data {
            let mut file = tempfile::tempfile()?;
            file.write_all(contents.as_bytes())?;
            let file = File::from(at_number(&file, *number)?);
            rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
            data.push(file);
        }
        let words = command.argv.iter().skip(1);
        let arguments = words.map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned());
        let arguments = arguments.collect();
        Ok(Self { executable, arguments, start_as: command.start_as, data })
    }

    /// The command for one start.
    pub(crate) fn command(&mut self) -> io::Result<Command> {
        for file in &mut self.data {
            file.rewind()?;
        }
        let mut command = Command::new(self.executable);
        command.args(&self.arguments);
        if rustix::process::geteuid().is_root() {
            command.uid(self.start_as.uid).gid(self.start_as.gid);
        }
        Ok(command)
    }
}

/// A copy of the descriptor with exactly this number.
fn at_number(file: &File, number: i32) -> io::Result<OwnedFd> {
    let copy = rustix::io::fcntl_dupfd_cloexec(file, number)?;
    match copy.as_raw_fd() == number {
        true => Ok(copy),
        false => Err(io::Error::other(format!("descriptor {number} is taken"))),
    }
}

/// Above every descriptor that the benchmark itself opens, below every usual limit.
const FIRST_DESCRIPTOR: i32 = 600;
