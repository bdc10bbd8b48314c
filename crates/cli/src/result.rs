//! The result of a run as one line of JSON, for a program: how it ended and what was refused on the
//! way, or why nothing ran.

use std::fs::{File, Metadata};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use advice::result::{
    DeniedCallResult, NetworkResult, PathResult, Quarantined, UsageResult, WorkspaceResult,
};
use cage::Ended;
use cage::session::SessionId;
use plan::Plan;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{ErrorReport, Failure};

/// Where the result goes.
#[derive(Debug)]
pub(crate) enum Destination {
    /// Nobody asked for it.
    Nowhere,
    /// To standard error, after everything that the program wrote.
    StandardError,
    /// To a descriptor that the caller has opened for it.
    Descriptor(File),
    /// To a file, which was made or emptied before the program ran.
    File {
        /// Where it is to be found.
        path: PathBuf,
        /// The directory of that, then: a program that may write there can put another in its place.
        directory: OwnedFd,
        /// What was there then.
        file: File,
    },
}

/// What happened.
#[derive(Debug, Serialize)]
pub(crate) struct RunResult {
    /// The start's name; none where it did not come to that.
    invocation: Option<String>,
    /// The session that it belongs to.
    session: Option<String>,
    /// Whether the program was in a cage, or would have been.
    caged: bool,
    cage: Option<String>,
    /// The canonical hash of the compiled cage.
    plan_hash: Option<String>,
    /// The exit code of `stockade`.
    exit_code: u8,
    /// The signal that ended the program.
    signal: Option<i32>,
    reason: &'static str,
    denials: Vec<DeniedCallResult>,
    /// Paths that it did not get, where its calls were noted.
    paths: Vec<PathResult>,
    /// What it used of its grants, where that was to be noted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    used: Vec<jail::Observed>,
    quarantined: Vec<Quarantined>,
    /// What the program changed in its views of directories.
    workspaces: Vec<WorkspaceResult>,
    /// What else was found after the run, one sentence each.
    notes: Vec<String>,
    layers: Option<jail::Layers>,
    /// What became of the network; none in a cage without one.
    network: Option<NetworkResult>,
    /// What the program has used; none without limits on it.
    usage: Option<UsageResult>,
    duration_ms: Option<u64>,
    error: Option<ErrorReport>,
}

/// What a start is known by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'a> {
    /// It has no record and no name.
    Nothing,
    /// By its name in the record.
    Start(&'a str),
    /// By its name, and it has no cage.
    Uncaged(&'a str),
    /// By its cage, which has that name.
    Cage(&'a Plan),
}

impl<'a> Named<'a> {
    /// The cage, if there is one.
    pub(crate) fn plan(self) -> Option<&'a Plan> {
        match self {
            Self::Cage(plan) => Some(plan),
            Self::Nothing | Self::Start(_) | Self::Uncaged(_) => None,
        }
    }
}

impl RunResult {
    /// A program that ran.
    pub(crate) fn of_run(named: Named<'_>, ended: &Ended) -> Self {
        Self {
            exit_code: Exit::of_run(ended.end, ended.reason).number(),
            signal: ended.signal(),
            reason: ended.reason.word(),
            denials: ended.denials.iter().map(DeniedCallResult::from).collect(),
            paths: PathResult::all(&ended.observations),
            used: ended.observations.used.clone(),
            quarantined: ended.findings.found.iter().map(Quarantined::from).collect(),
            workspaces: ended.workspaces.iter().map(WorkspaceResult::from).collect(),
            notes: ended.findings.notes.iter().map(|note| note.text().to_owned()).collect(),
            layers: ended.layers,
            network: ended.network.as_ref().map(NetworkResult::from),
            usage: ended.usage.as_ref().map(UsageResult::from),
            duration_ms: Some(milliseconds(ended.duration)),
            ..Self::of(named)
        }
    }

    /// The same for a run that belongs to a session.
    pub(crate) fn in_session(self, session: Option<&SessionId>) -> Self {
        Self { session: session.map(|id| id.as_str().to_owned()), ..self }
    }

    /// A program that did not run.
    pub(crate) fn of_failure(named: Named<'_>, failure: &Failure) -> Self {
        Self {
            exit_code: failure.exit.number(),
            reason: failure.code(),
            error: Some(failure.report()),
            ..Self::of(named)
        }
    }

    fn of(named: Named<'_>) -> Self {
        let nothing = Self::of_nothing();
        match named {
            Named::Nothing => nothing,
            Named::Start(name) => Self { invocation: Some(name.to_owned()), ..nothing },
            Named::Uncaged(name) => {
                Self { invocation: Some(name.to_owned()), caged: false, ..nothing }
            }
            Named::Cage(plan) => Self {
                invocation: Some(plan.start.invocation.clone()),
                cage: Some(plan.walls.cage.clone()),
                plan_hash: Some(plan.hash().as_str().to_owned()),
                ..nothing
            },
        }
    }

    fn of_nothing() -> Self {
        Self {
            invocation: None,
            session: None,
            caged: true,
            cage: None,
            plan_hash: None,
            exit_code: 0,
            signal: None,
            reason: "exited",
            denials: Vec::new(),
            paths: Vec::new(),
            used: Vec::new(),
            quarantined: Vec::new(),
            workspaces: Vec::new(),
            notes: Vec::new(),
            layers: None,
            network: None,
            usage: None,
            duration_ms: None,
            error: None,
        }
    }
}

impl Destination {
    /// Writes a result to where it was asked for. It is only made if somebody asked: the hash of a
    /// cage costs as much as compiling it.
    pub(crate) fn write(&self, result: impl FnOnce() -> RunResult) -> std::io::Result<()> {
        let line = || -> std::io::Result<Vec<u8>> {
            let mut line = serde_json::to_vec(&result())?;
            line.push(b'\n');
            Ok(line)
        };
        match self {
            Self::Nowhere => Ok(()),
            // A program that has not ended its last line must not become part of the result, or
            // take its place.
            Self::StandardError => {
                let result = [b"\n", line()?.as_slice()].concat();
                std::io::stderr().lock().write_all(&result)
            }
            Self::Descriptor(file) => {
                let mut file = file;
                if file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                file.write_all(&line()?)
            }
            Self::File { path, file, .. } if is_at(path, file) => {
                // The program may have had something to write there.
                file.set_len(0)?;
                file.write_all_at(&line()?, 0)
            }
            Self::File { path, directory, .. } => put_in_place(path, directory, &line()?),
        }
    }

    /// Takes the descriptor that `--result-fd` names, and leaves it to nobody. From here on this process
    /// ends with its caller, which alone reads the result.
    pub(crate) fn inherited(number: u32) -> Result<Self, Failure> {
        let refused = |why: std::io::Error| {
            Failure::new(Exit::Usage, format!("descriptor {number} cannot take the result: {why}"))
        };
        let kernel = |errno: rustix::io::Errno| refused(errno.into());
        if !is_inherited(number) {
            return Err(refused(std::io::ErrorKind::NotFound.into()));
        }
        let file = File::options().write(true).open(format!("/proc/self/fd/{number}"));
        let file = file.map_err(refused)?;
        sys::descriptors::hand_on_nothing_from(FIRST_BEYOND_STREAMS).map_err(kernel)?;
        let signal = rustix::process::Signal::KILL;
        rustix::process::set_parent_process_death_signal(Some(signal)).map_err(kernel)?;
        // A caller that died before that will not be missed by a signal.
        let mut reader = [PollFd::new(&file, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut reader, Some(&now)).map_err(kernel)?;
        let [reader] = reader;
        if reader.revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Err(refused(std::io::ErrorKind::BrokenPipe.into()));
        }
        Ok(Self::Descriptor(file))
    }

    /// Opens what `--json` asked for. A file that cannot be written is told before anything runs,
    /// and neither a link nor anything but a regular file is written to: a program that may write
    /// there could have put it in the file's place.
    pub(crate) fn open(argument: Option<&Option<PathBuf>>) -> Result<Self, Failure> {
        let path = match argument {
            None => return Ok(Self::Nowhere),
            Some(None) => return Ok(Self::StandardError),
            Some(Some(path)) => path,
        };
        let refused = |why: &dyn std::fmt::Display| {
            let path = policy::shown::shown(path.display());
            Failure::new(Exit::Usage, format!("the result cannot be written to `{path}`: {why}"))
        };
        if let Some(number) = named_descriptor(path) {
            // The caller's own: no program can have put it there.
            let file = File::options().write(true).open(format!("/proc/self/fd/{number}"));
            return file.map(Self::Descriptor).map_err(|error| refused(&error));
        }
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file = rustix::fs::open(path, flags, mode)
            .map(File::from)
            .map_err(|errno| refused(&std::io::Error::from(errno)))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(refused(&"it is not a regular file"));
        }
        file.set_len(0).map_err(|error| refused(&error))?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(above, flags, Mode::empty())
            .map_err(|errno| refused(&std::io::Error::from(errno)))?;
        Ok(Self::File { path: path.clone(), directory, file })
    }
}

/// The descriptor that a path such as `/dev/fd/3` names, beyond the standard streams.
fn named_descriptor(path: &Path) -> Option<u32> {
    let number = path.to_str()?.strip_prefix("/dev/fd/")?;
    number.parse().ok().filter(|number| *number >= FIRST_BEYOND_STREAMS)
}

/// Whether a path leads to an open file.
fn is_at(path: &Path, file: &File) -> bool {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let found = path.symlink_metadata().map(identity);
    matches!((found, file.metadata().map(identity)), (Ok(found), Ok(own)) if found == own)
}

/// Takes the place of whatever a program has put there, which whoever reads the result would believe.
fn put_in_place(path: &Path, directory: &OwnedFd, line: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    let beside = [b".", name.as_bytes(), format!(".{}", std::process::id()).as_bytes()].concat();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let mut file = File::from(rustix::fs::openat(directory, beside.as_slice(), flags, mode)?);
    let renamed = file
        .write_all(line)
        .and_then(|()| Ok(rustix::fs::renameat(directory, beside.as_slice(), directory, name)?));
    renamed.inspect_err(|_| {
        // It is ours, and of no use to anybody.
        let _left = rustix::fs::unlinkat(directory, beside.as_slice(), AtFlags::empty());
    })?;
    let is_found = is_at(path, &file);
    let elsewhere = || std::io::Error::other("its directory was replaced during the run");
    if is_found { Ok(()) } else { Err(elsewhere()) }
}

/// Whether a descriptor was open when this program began: what it has opened since is closed when another
/// is executed.
fn is_inherited(number: u32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else {
        return false;
    };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() == 0)
}

const FIRST_BEYOND_STREAMS: u32 = 3;

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
