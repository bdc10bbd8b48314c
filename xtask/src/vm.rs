//! `cargo xtask vm`: a small Debian under qemu, with systemd and version 2 of control groups, in which
//! tests run that depend on them and that the machine at hand may not be able to run. The machine has
//! no network, and whatever it writes is gone with it. Never touches the host's own systemd, control
//! groups or settings.

mod guest;
mod image;
mod machine;
mod options;
mod orders;
mod passes;
mod payload;
mod recipe;
mod restrictions;
mod tools;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

pub(crate) use guest::run as run_inside;
pub(crate) use passes::run_one as run_pass_inside;

use crate::command::{Failure, target_directory};
use image::Image;
use machine::{Machine, Outcome};
use options::{Options, Purpose};
use orders::Orders;
use payload::Payload;
use recipe::Recipe;

/// Builds what is needed, boots the machine and says whether all went well in it.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<bool, Failure> {
    let options = Options::read(words)?;
    tools::check()?;
    let cache = target_directory(root)?.join("vm");
    let image = Image::of(&Recipe::of_this_machine()?, root, &cache)?;
    let payload = match &options.purpose {
        Purpose::Tests(words) => Payload::with_tests(root, words)?,
        Purpose::Benchmark(words) => Payload::with_benchmark(root, words)?,
        Purpose::Command(words) => Payload::with_orders(root, &Orders::Command(words.clone()))?,
        Purpose::Console => Payload::with_orders(root, &Orders::Nothing)?,
    };
    let machine =
        Machine { image: &image, payload: payload.disk(), log: cache.join("console.log") };
    if options.purpose == Purpose::Console {
        return machine.console();
    }
    match machine.work(Duration::from_secs(options.minutes * 60))? {
        Outcome::Tested(totals) => {
            println!("in the virtual machine: {totals}");
            Ok(totals.failed == 0)
        }
        Outcome::Ended(status) => {
            println!("in the virtual machine: ended with {status}");
            Ok(status == 0)
        }
    }
}
