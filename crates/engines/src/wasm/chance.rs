//! Random bytes, from the kernel alone. However many are asked for, a guest's time is looked at between them.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::processor::Allowance;

/// Fills all of it, or none that counts.
pub(super) fn fill(bytes: &mut [u8], allowance: Allowance) -> Result<(), Errno> {
    for chunk in bytes.chunks_mut(AT_ONCE) {
        if allowance.is_spent() {
            return Err(Errno::INTR);
        }
        let mut done = 0;
        while let Some(rest) = chunk.get_mut(done..).filter(|rest| !rest.is_empty()) {
            done += getrandom(rest, GetRandomFlags::empty())?;
        }
    }
    Ok(())
}

const AT_ONCE: usize = 1 << 20;
