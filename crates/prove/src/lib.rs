//! Plays every attack and scenario, in cages and uncaged, and judges what came of them.
//!
//! An [`Attack`](attacks::Attack) is tried from inside. A [`Scenario`] works on a cage from the host: it
//! starts one in an unusual way. Both count as held off only if their twin, the same uncaged, went
//! through, so a broken attack cannot pass for a strong wall.
//!
//! This crate builds no cage and knows no policy: [`prove`] is told how to start one.
#![forbid(unsafe_code)]

mod prove;
mod report;
mod scenario;
mod scenarios;

pub use prove::{
    CageRequest, Cages, CommandLineCages, Profile, ProveError, Settings, prove, twins,
};
pub use report::{InCage, Judgement, Report, Row};
pub use scenario::{Scenario, ScenarioScene};
pub use scenarios::scenarios;
