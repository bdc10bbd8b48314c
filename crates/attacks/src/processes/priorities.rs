//! The priority of the process that stands over the attack, by way of its user. T75
//!
//! Uncaged this would reach every process of the user, so that it happens on a stage, with a victim there,
//! and never where pid 1 is somebody else's.

use std::fs;

use rustix::process::{Pid, getpriority_process, getuid, setpriority_user};
use sys::raw;

use super::memory::pid;
use crate::attack::{Attack, Outcome, Refused, Scene, Twin};

/// The attacks that must never run outside of namespaces of their own.
pub(crate) const SLOW_EVERYTHING: &[&str] = &[SLOW, SLOW_IO];

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T75", SLOW, "lowers pid 1's priority with that of its user", |scene| {
        by_user(
            scene,
            LOWEST.into(),
            |overseer| Ok(getpriority_process(Some(overseer))?.into()),
            |before| {
                let lower = i32::try_from(before).unwrap_or(0).saturating_add(3).min(LOWEST);
                Ok(setpriority_user(getuid(), lower)?)
            },
        )
    })
    .twin(Twin::Namespaces),
    Attack::new("T75", SLOW_IO, "lowers pid 1's priority of input and output", |scene| {
        by_user(
            scene,
            raw::IDLE_IO,
            |overseer| Ok(raw::io_priority(overseer)?),
            |_| Ok(raw::idle_io_of_user(getuid())?),
        )
    })
    .twin(Twin::Namespaces),
];

/// Succeeds if what `look` sees of the overseer is not the same after `change`.
fn by_user(
    scene: &Scene<'_>,
    lowest: i64,
    look: fn(Pid) -> Result<i64, Refused>,
    change: fn(i64) -> Result<(), Refused>,
) -> Result<Outcome, Refused> {
    if !is_own(scene.overseer)? {
        return Ok(Outcome::Failed("what stands over it is somebody else's".to_owned()));
    }
    let overseer = pid(scene.overseer)?;
    let before = look(overseer)?;
    change(before)?;
    match look(overseer)? {
        // Who is started with the lowest priority has nothing to lose.
        after if after == before && before == lowest => {
            Ok(Outcome::NotApplicable("it has the lowest priority already".to_owned()))
        }
        after if after == before => Ok(Outcome::Failed(format!("it is {before} as before"))),
        after => Ok(Outcome::Succeeded(format!("it was {before} and is {after}"))),
    }
}

fn is_own(process: u32) -> Result<bool, Refused> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let real = user.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
    Ok(real == Some(getuid().as_raw()))
}

const SLOW: &str = "slow-overseer-by-user";
const SLOW_IO: &str = "slow-overseer-input-by-user";
const LOWEST: i32 = 19;
