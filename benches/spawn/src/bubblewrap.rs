//! Bubblewrap with the command line that the Plan is rendered to: the same mounts and the same
//! system call filter. What it reads from descriptors is written once and rewound before each run.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use plan::Plan;
use rustix::io::FdFlags;

use crate::program::Program;

/// Bubblewrap, ready to run one Plan any number of times.
pub(crate) struct Bubblewrap {
    program: Program,
    data: Vec<File>,
}

impl Bubblewrap {
    /// Renders the Plan and opens what the command line refers to.
    pub(crate) fn new(executable: &str, plan: &Plan) -> io::Result<Self> {
        let command = plan::render::bwrap(plan, FIRST_DESCRIPTOR);
        let mut data = Vec::with_capacity(command.data.len());
        for (number, contents) in &command.data {
            let mut file = tempfile::tempfile()?;
            file.write_all(contents.as_bytes())?;
            data.push(File::from(at_number(&file, *number)?));
        }
        let arguments = command.argv.iter().map(|word| word.as_bytes().to_vec()).collect();
        let mut program = Program::new(executable, arguments)?;
        if rustix::process::geteuid().is_root() {
            program = program.running_as(command.start_as);
        }
        Ok(Self { program, data })
    }

    /// Runs it to its end and returns how long that took.
    pub(crate) fn time(&mut self) -> io::Result<Duration> {
        self.before()?;
        let time = self.program.time();
        self.after()?;
        time
    }

    /// Starts it and leaves it running.
    pub(crate) fn start(&mut self) -> io::Result<rustix::process::Pid> {
        self.before()?;
        let started = self.program.start();
        self.after()?;
        started
    }

    /// Lets the next program inherit the descriptors, from their beginning.
    fn before(&mut self) -> io::Result<()> {
        for file in &mut self.data {
            file.rewind()?;
            rustix::io::fcntl_setfd(file, FdFlags::empty())?;
        }
        Ok(())
    }

    /// Keeps them from every other program.
    fn after(&mut self) -> io::Result<()> {
        for file in &self.data {
            rustix::io::fcntl_setfd(file, FdFlags::CLOEXEC)?;
        }
        Ok(())
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

/// Above every descriptor that the benchmark itself opens.
const FIRST_DESCRIPTOR: i32 = 4000;
