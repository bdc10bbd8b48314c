//! The program whose first instruction is waited for: prints what time it is, by a clock that all
//! processes of the machine share.

use std::io::{self, Write as _};

use rustix::time::{ClockId, clock_gettime};

/// The word that makes this program the one that runs inside.
pub const ROLE: &str = "stamp";

/// Prints the time.
pub fn print() -> io::Result<()> {
    let now = now();
    writeln!(io::stdout(), "{now}")
}

/// Nanoseconds since the machine was booted.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The time that the program printed.
pub fn read(printed: &[u8]) -> io::Result<u64> {
    let text = String::from_utf8_lossy(printed);
    let number = text.trim().parse();
    number.map_err(|_| io::Error::other(format!("the program printed `{}`", text.trim())))
}
