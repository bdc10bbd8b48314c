//! What is behind a line that does not follow and that nothing sets apart: a sign of what was done to
//! the log. Reads; never decides that a log is right.

use rustix::io::Errno;

use super::Fault;
use crate::line::Line;
use crate::lines::{Lines, Part, RawLine};
use crate::seal::After;

/// What was done to the log, as far as the lines around the first wrong one tell.
pub(super) fn classify(
    parts: &[Part],
    part: &Part,
    raw: &RawLine<'_>,
    after: After,
) -> Result<Fault, Errno> {
    let expected = after.sequence + 1;
    Ok(match Line::parse(raw.bytes) {
        Err(_) if is_next_line_right(part, raw.end, after)? => Fault::Inserted,
        Err(_) => Fault::Changed,
        Ok(line) if line.sequence > expected => {
            if stands_further_on(parts, part, raw.end, after)? {
                Fault::Reordered
            } else {
                Fault::Missing { next: line.sequence }
            }
        }
        Ok(line) if line.sequence < expected => Fault::Inserted,
        Ok(_) if is_next_line_right(part, raw.end, after)? => Fault::Inserted,
        Ok(_) => Fault::Replaced,
    })
}

fn is_next_line_right(part: &Part, offset: u64, after: After) -> Result<bool, Errno> {
    let mut lines = Lines::from(offset);
    let next = lines.next(part)?.and_then(|raw| Line::parse(raw.bytes).ok());
    Ok(next.is_some_and(|line| after.is_followed_by(line.sequence, line.previous)))
}

/// Whether the record that should be next is anywhere behind an offset.
fn stands_further_on(
    parts: &[Part],
    part: &Part,
    offset: u64,
    after: After,
) -> Result<bool, Errno> {
    for later in parts.iter().filter(|later| later.number >= part.number) {
        let mut lines = Lines::from(if later.number == part.number { offset } else { 0 });
        while let Some(raw) = lines.next(later)? {
            let line = Line::parse(raw.bytes);
            if line.is_ok_and(|line| after.is_followed_by(line.sequence, line.previous)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
