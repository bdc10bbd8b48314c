//! Reading, writing and holding other processes: one of the host, and the one that stands over the
//! attack. T18

use std::fs;
use std::os::unix::fs::FileExt;

use rustix::process::{Pid, PidfdFlags};
use sys::raw::{self, Probe};

use crate::arena::LEDGER_BYTES;
use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T18", "trace-victim", "traces a host process", |scene| trace(scene.victim.pid)),
    Attack::new("T18", "trace-overseer", "traces pid 1", |scene| trace(scene.overseer)),
    Attack::new("T18", "read-victim-memory", "copies a host process's memory", |scene| {
        let bytes = raw::read_memory(pid(scene.victim.pid)?, scene.victim.secret_address, 80)?;
        Ok(Outcome::of_reading(&bytes))
    })
    .steals(),
    Attack::new("T18", "write-victim-memory", "overwrites a host process's memory", |scene| {
        let mark = format!("{};", scene.mark());
        raw::write_memory(pid(scene.victim.pid)?, scene.victim.ledger_address, mark.as_bytes())?;
        Ok(Outcome::Attempted("written".to_owned()))
    })
    .harms(),
    Attack::new("T18", "write-victim-memory-file", "writes to a memory file", |scene| {
        let path = format!("/proc/{}/mem", scene.victim.pid);
        let memory = fs::OpenOptions::new().write(true).open(path)?;
        let mark = format!("{};", scene.mark());
        let middle = scene.victim.ledger_address + LEDGER_BYTES as u64 / 2;
        memory.write_at(mark.as_bytes(), middle)?;
        Ok(Outcome::Attempted("written".to_owned()))
    })
    .harms(),
    Attack::new("T18", "open-overseer-memory", "opens pid 1's memory for writing", |scene| {
        let path = format!("/proc/{}/mem", scene.overseer);
        fs::OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Outcome::Succeeded("opened".to_owned()))
    }),
    Attack::new("T18", "read-overseer-memory", "copies pid 1's memory", read_overseer),
    Attack::new("T18", "handle-on-victim", "gets a handle on a host process", |scene| {
        rustix::process::pidfd_open(pid(scene.victim.pid)?, PidfdFlags::empty())?;
        let line = fs::read(format!("/proc/{}/cmdline", scene.victim.pid))?;
        if line.windows(6).any(|window| window == b"victim") {
            return Ok(Outcome::Succeeded("got a handle".to_owned()));
        }
        Ok(Outcome::Failed("that number is another process here".to_owned()))
    }),
    Attack::call("T18", "call-ptrace", Probe::Ptrace).default_only(),
    Attack::call("T18", "call-process-vm-readv", Probe::ProcessVmReadv).default_only(),
    Attack::call("T18", "call-process-vm-writev", Probe::ProcessVmWritev).default_only(),
    Attack::call("T18", "call-pidfd-getfd", Probe::PidfdGetfd).default_only(),
    Attack::call("T18", "call-kcmp", Probe::Kcmp).default_only(),
];

/// A process with this number, whoever that is.
pub(super) fn pid(number: u32) -> Result<Pid, Refused> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| Refused("not a process id".to_owned()))
}

fn trace(number: u32) -> Result<Outcome, Refused> {
    raw::seize(pid(number)?)?;
    Ok(Outcome::Succeeded("it is traced".to_owned()))
}

/// Its memory's layout tells where to read; the layout itself is kept from strangers.
fn read_overseer(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let layout = fs::read_to_string(format!("/proc/{}/maps", scene.overseer))?;
    let stack = layout.lines().find(|line| line.ends_with("[stack]"));
    let start = stack.and_then(|line| line.split('-').next());
    let Some(start) = start.and_then(|text| u64::from_str_radix(text, 16).ok()) else {
        return Ok(Outcome::Failed("its layout is not shown".to_owned()));
    };
    let bytes = raw::read_memory(pid(scene.overseer)?, start, 64)?;
    Ok(Outcome::Succeeded(format!("{} bytes of its stack", bytes.len())))
}
