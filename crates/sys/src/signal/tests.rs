//! What a started program ignores.

use std::process::Command;

use super::{ignore, restore_all_defaults_in};

fn ignored(command: &mut Command) -> u64 {
    let output = command.args(["SigIgn", "/proc/self/status"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    u64::from_str_radix(text.split_whitespace().last().unwrap(), 16).unwrap()
}

#[test]
fn a_program_can_begin_with_every_signal_at_its_default() {
    ignore(libc::SIGUSR2).unwrap();
    let mask = 1 << (libc::SIGUSR2 - 1);
    assert_eq!(ignored(&mut Command::new("grep")) & mask, mask);
    assert_eq!(ignored(restore_all_defaults_in(&mut Command::new("grep"))), 0);
    // Only there.
    assert_eq!(ignored(&mut Command::new("grep")) & mask, mask);
}
