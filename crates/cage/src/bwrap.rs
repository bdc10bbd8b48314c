//! Running a Plan with bubblewrap instead of the native launcher, where a user demands it. The
//! command line is the Plan's own rendering; the walls that it cannot express are missing, and a
//! Plan that needs one of them is refused.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use jail::{ProgramStreams, Stream};
use plan::{Access, Bind, IdentityMap, LimitsPlan, Mapping, NetworkPlan, Plan};
use rustix::fs::{MemfdFlags, SeekFrom};
use rustix::io::{Errno, FdFlags};
use rustix::process::Pid;

use crate::direct::Direct;
use crate::outcome::SpawnError;

/// Where bubblewrap may be. Never looked for in the caller's `PATH`: what it finds would run with
/// the caller's authority.
pub const PLACES: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];

/// The installed bubblewrap, if there is one.
pub fn installed() -> Option<&'static Path> {
    PLACES.iter().map(Path::new).find(|place| place.is_file())
}

/// The installed bubblewrap, or why a cage that needs it cannot start.
fn program() -> Result<&'static Path, SpawnError> {
    installed().ok_or_else(|| helper("it is not installed"))
}

/// Starts bubblewrap in a process group of its own. No other descriptor that is open in this process is
/// inherited by anything that it starts from now on.
pub(crate) fn spawn(plan: &Plan, streams: ProgramStreams) -> Result<Direct, SpawnError> {
    let program = program()?;
    let command = plan::render::bwrap(plan, FIRST_DESCRIPTOR);
    let failed = |errno: Errno| helper(std::io::Error::from(errno));
    // What this process was started with would be a way out of the cage, and Bubblewrap hands it on.
    sys::descriptors::hand_on_nothing_from(FIRST_BEYOND_STREAMS).map_err(failed)?;
    let mut kept = Vec::new();
    for (number, contents) in &command.data {
        kept.push(data_at(*number, contents.as_bytes()).map_err(failed)?);
    }
    // The filter tells programs that they have it, and Bubblewrap hands on what it was started with.
    jail::refuse_core_dumps().map_err(helper)?;
    let mut process = Command::new(program);
    process.args(command.argv.iter().skip(1).map(plan::ByteString::as_os_str)).env_clear();
    process.stdin(stdio(streams.stdin)).stdout(stdio(streams.stdout)).stderr(stdio(streams.stderr));
    // This process holds back what it forwards.
    sys::signal::restore_all_defaults_in(&mut process).process_group(0);
    if plan.walls.identity.map == IdentityMap::Unowned {
        // Drops the supplementary groups as well.
        process.gid(command.start_as.gid).uid(command.start_as.uid);
    }
    let child = process.spawn().map_err(helper)?;
    Direct::of_child(Pid::from_child(&child))
}

fn stdio(stream: Stream) -> Stdio {
    match stream {
        Stream::Descriptor(descriptor) => Stdio::from(descriptor),
        // Nothing makes one for a program that is not in a cage of ours.
        Stream::Null | Stream::Terminal => Stdio::null(),
    }
}

/// The same with a summary from which the record's readers see who built the cage.
pub(crate) fn told_apart(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.start.summary.push_str(", built by bubblewrap");
    plan
}

/// Refuses a cage that bubblewrap cannot build here.
pub(crate) fn check_start(plan: &Plan) -> Result<(), SpawnError> {
    program()?;
    check(plan)
}

/// Refuses what bubblewrap would silently do without, whether or not it is installed.
pub fn check(plan: &Plan) -> Result<(), SpawnError> {
    if plan.walls.network != NetworkPlan::Loopback {
        return Err(helper("it cannot hold a cage to its network destinations"));
    }
    if plan.walls.mounts.iter().any(|operation| operation.view().is_some()) {
        return Err(helper("it cannot lay layers over directories (`cow`, `cache`)"));
    }
    if plan.walls.mounts.iter().any(|operation| operation.served().is_some()) {
        return Err(helper("it cannot show mounts that a process of ours serves"));
    }
    if plan.walls.limits != LimitsPlan::default() {
        return Err(helper("it cannot enforce limits"));
    }
    let mapped = plan.walls.mounts.iter().find(|operation| {
        let maps = |bind: &Bind| bind.access == Access::ReadWrite && bind.mapping != Mapping::Plain;
        operation.bind().is_some_and(maps)
    });
    match mapped {
        Some(grant) => Err(helper(format!(
            "it cannot map the owner of `{}`, which root's cages need to write there; use the \
             native backend or start the cage as the files' owner",
            grant.at()
        ))),
        None => Ok(()),
    }
}

/// A memory file with these contents at exactly this descriptor number, inherited by a child.
fn data_at(number: i32, contents: &[u8]) -> Result<OwnedFd, Errno> {
    let file = rustix::fs::memfd_create(c"stockade", MemfdFlags::CLOEXEC)?;
    let mut rest = contents;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).ok_or(Errno::IO)?;
    }
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    let placed = rustix::io::fcntl_dupfd_cloexec(file.as_fd(), number)?;
    rustix::io::fcntl_setfd(&placed, FdFlags::empty())?;
    if placed.as_raw_fd() == number { Ok(placed) } else { Err(Errno::MFILE) }
}

fn helper(problem: impl std::fmt::Display) -> SpawnError {
    SpawnError::Helper { program: "bwrap", problem: problem.to_string() }
}

/// High enough to be free.
const FIRST_DESCRIPTOR: i32 = 200;

const FIRST_BEYOND_STREAMS: u32 = 3;
