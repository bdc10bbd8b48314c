//! Giving up everything that could be used against the cage: capabilities, the way back to them,
//! core dumps, and the traces of the process that this one was forked from. What was dropped is
//! read back.

use std::ops::Range;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use walls::Wall;

use crate::{SetupFailure, Step};

/// Lets this process die with the thread that started it. Cleared by the kernel on every change of
/// ids, so it comes after the last one.
pub(crate) fn die_with_parent() -> Result<(), SetupFailure> {
    if !walls::stands(Wall::DeathWithSupervisor) {
        return Ok(());
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| SetupFailure::kernel(Step::Settings, "the parent death signal", errno))
}

/// Drops every capability for good and checks that they are gone.
pub(crate) fn drop_all() -> Result<(), SetupFailure> {
    drop_all_but(CapabilitySet::empty())
}

/// The same, with some that a helper process keeps in its own namespace. No program that it could start has them.
pub(crate) fn drop_all_but(kept: CapabilitySet) -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Privileges, "capabilities", errno);
    rustix::thread::clear_ambient_capability_set().map_err(failed)?;
    empty_bounding_set()?;
    let left =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    if walls::stands(Wall::Capabilities) {
        rustix::thread::set_capabilities(None, left).map_err(failed)?;
    }
    if walls::stands(Wall::NoNewPrivileges) {
        rustix::thread::set_no_new_privs(true)
            .map_err(|errno| SetupFailure::kernel(Step::Privileges, "new privileges", errno))?;
    }
    check(kept)
}

/// Makes this process unreadable for what runs in the cage under the same id: its memory is a copy
/// of the supervisor's. What it is to change of itself later has to be opened before.
pub(crate) fn hide_from_the_cage<T>(open: impl FnOnce() -> T) -> Result<T, SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Settings, "pid 1", errno);
    // Changing ids has made it unreadable even for itself; nothing else runs in the cage yet.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(failed)?;
    let opened = open();
    erase_arguments().map_err(failed)?;
    if walls::stands(Wall::FirstProcessHidden) {
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed)?;
    }
    Ok(opened)
}

/// Turns core dumps of this process and all that it starts off. A limit of 1 is the one value that also
/// keeps the kernel from handing the memory of a crashed program to a helper on the host (core(5)). The
/// filters of cages leave it as it is.
pub fn refuse_core_dumps() -> Result<(), SetupFailure> {
    if !walls::stands(Wall::CoreLimit) {
        return Ok(());
    }
    // A caller whose hard limit is 0 cannot have it; then there are no dumps in files, and helpers are told
    // of the limit. The kernel has nothing stronger that outlasts the start of a program.
    let hard = rustix::process::getrlimit(Resource::Core).maximum;
    let most = hard.map_or(1, |hard| hard.min(1));
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    rustix::process::setrlimit(Resource::Core, limit)
        .map_err(|errno| SetupFailure::kernel(Step::Settings, "the core dump limit", errno))
}

fn check(kept: CapabilitySet) -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Verify, "capabilities", errno);
    let sets = rustix::thread::capabilities(None).map_err(failed)?;
    let left = sets.effective | sets.permitted | sets.inheritable;
    if !kept.contains(left) || !sets.inheritable.is_empty() {
        return Err(SetupFailure::found(Step::Verify, "capabilities", "some were not dropped"));
    }
    if !rustix::thread::no_new_privs().map_err(failed)? {
        return Err(SetupFailure::found(Step::Verify, "no_new_privs", "it is not set"));
    }
    Ok(())
}

/// The command line of the supervisor would be readable as that of pid 1. The kernel takes it
/// from this process's memory, which is a copy of its own by now.
fn erase_arguments() -> Result<(), Errno> {
    let arguments = find_arguments()?;
    let length = usize::try_from(arguments.end.saturating_sub(arguments.start));
    let nothing = vec![0; length.map_err(|_| Errno::IO)?];
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let memory = rustix::fs::openat(CWD, c"/proc/self/mem", flags, Mode::empty())?;
    rustix::io::pwrite(&memory, &nothing, arguments.start)?;
    Ok(())
}

/// Where the kernel takes the command line from.
fn find_arguments() -> Result<Range<u64>, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let stat = rustix::fs::openat(CWD, c"/proc/self/stat", flags, Mode::empty())?;
    let mut text = [0_u8; 1024];
    let length = rustix::io::read(&stat, &mut text)?;
    let text = text.get(..length).ok_or(Errno::IO)?;
    // The second field is the program's name in parentheses and may hold anything.
    let after_name = text.iter().rposition(|byte| *byte == b')').ok_or(Errno::IO)?;
    let fields =
        std::str::from_utf8(text.get(after_name..).ok_or(Errno::IO)?).map_err(|_| Errno::IO)?;
    let mut fields = fields.split_ascii_whitespace().skip(ARGUMENT_START - 2);
    let mut address = || fields.next().and_then(|field| field.parse::<u64>().ok()).ok_or(Errno::IO);
    Ok(address()?..address()?)
}

/// Leaves nothing in the bounding set. Of every capability it is read whether it is gone.
fn empty_bounding_set() -> Result<(), SetupFailure> {
    if !walls::stands(Wall::BoundingSet) {
        return Ok(());
    }
    let failed = |errno| SetupFailure::kernel(Step::Privileges, "capabilities", errno);
    let is_there = rustix::thread::capability_is_in_bounding_set;
    for number in 0..MOST_CAPABILITIES {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(failed(errno)),
        }
        if is_there(capability).map_err(failed)? {
            let detail = "the bounding set is not empty";
            return Err(SetupFailure::found(Step::Verify, "capabilities", detail));
        }
    }
    Ok(())
}

/// The kernel has fewer; it says so by itself.
const MOST_CAPABILITIES: u32 = 63;

/// Position of `arg_start` in `/proc/self/stat`, counted from 1 (proc(5)).
const ARGUMENT_START: usize = 48;

#[cfg(test)]
mod tests;
