//! A three-way merge of text by lines. What both sides changed at one place, or next to each other, and not in the
//! same way, is a conflict: then there is no merge at all, and never a file with marks in it.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

/// The text with the changes of both sides; none where they contradict each other.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let [base, ours, theirs] = [base, ours, theirs].map(lines);
    let sides = [Side::new(&base, ours), Side::new(&base, theirs)];
    let mut next = [0_usize; 2];
    let mut merged = Vec::new();
    let mut at = 0;
    while let Some(region) = grow(&sides, &mut next) {
        extend(&mut merged, base.get(at..region.base.start)?);
        let [ours, theirs] = [0, 1].map(|side| region.text(side, &sides, &base));
        let (ours, theirs) = (ours?, theirs?);
        let chosen = match (region.is_touched(0), region.is_touched(1)) {
            (true, false) => ours,
            (false, _) => theirs,
            (true, true) if ours == theirs => ours,
            (true, true) => return None,
        };
        extend(&mut merged, chosen);
        at = region.base.end;
    }
    extend(&mut merged, base.get(at..)?);
    Some(merged)
}

/// The lines of a text with their ends.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// How one text becomes another. A pair of texts that are made to take long is compared coarsely.
pub(crate) fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let deadline = Instant::now().checked_add(LONGEST);
    let found = similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline);
    // The library moves operations together afterwards; only their lengths are right then.
    let (mut old_index, mut new_index) = (0, 0);
    let mut placed = Vec::with_capacity(found.len());
    for operation in found {
        let (old_len, new_len) = (operation.old_range().len(), operation.new_range().len());
        placed.push(match operation {
            DiffOp::Equal { len, .. } => DiffOp::Equal { old_index, new_index, len },
            DiffOp::Delete { .. } => DiffOp::Delete { old_index, old_len, new_index },
            DiffOp::Insert { .. } => DiffOp::Insert { old_index, new_index, new_len },
            DiffOp::Replace { .. } => DiffOp::Replace { old_index, old_len, new_index, new_len },
        });
        old_index += old_len;
        new_index += new_len;
    }
    placed
}

/// One side of a merge.
struct Side<'text> {
    lines: Vec<&'text [u8]>,
    /// Lines of the base, and by what they were replaced.
    changes: Vec<(Range<usize>, Range<usize>)>,
}

/// A stretch of the base that at least one side changed.
struct Region {
    base: Range<usize>,
    /// The changes of each side that lie in it.
    changes: [Range<usize>; 2],
}

impl<'text> Side<'text> {
    fn new(base: &[&[u8]], lines: Vec<&'text [u8]>) -> Self {
        let operations = compare(base, &lines);
        let changes = operations
            .iter()
            .filter(|operation| !matches!(operation, DiffOp::Equal { .. }))
            .map(|operation| (operation.old_range(), operation.new_range()))
            .collect();
        Self { lines, changes }
    }
}

impl Region {
    fn is_touched(&self, side: usize) -> bool {
        self.changes.get(side).is_some_and(|changes| !changes.is_empty())
    }

    /// What one side has in place of the stretch.
    fn text<'text>(
        &self,
        side: usize,
        sides: &'text [Side<'text>; 2],
        base: &'text [&'text [u8]],
    ) -> Option<&'text [&'text [u8]]> {
        let (range, side) = (self.changes.get(side)?, sides.get(side)?);
        let changes = side.changes.get(range.clone())?;
        let Some(((first_base, first_new), (last_base, last_new))) =
            changes.first().cloned().zip(changes.last().cloned())
        else {
            return base.get(self.base.clone());
        };
        let start = first_new.start.checked_sub(first_base.start - self.base.start)?;
        let end = last_new.end + (self.base.end - last_base.end);
        side.lines.get(start..end)
    }
}

/// The next stretch: begins with the first change that is left and takes in all that overlap it or touch it.
fn grow(sides: &[Side<'_>; 2], next: &mut [usize; 2]) -> Option<Region> {
    let [ours, theirs] = sides;
    let [our_next, their_next] = next;
    let begins = |side: &Side<'_>, at: usize| side.changes.get(at).map(|(base, _)| base.start);
    let start =
        [begins(ours, *our_next), begins(theirs, *their_next)].into_iter().flatten().min()?;
    let (our_first, their_first) = (*our_next, *their_next);
    let mut end = start;
    loop {
        let before = (*our_next, *their_next);
        for (side, at) in [(ours, &mut *our_next), (theirs, &mut *their_next)] {
            if let Some((base, _)) = side.changes.get(*at).filter(|(base, _)| base.start <= end) {
                end = end.max(base.end);
                *at += 1;
            }
        }
        if before == (*our_next, *their_next) {
            break;
        }
    }
    Some(Region { base: start..end, changes: [our_first..*our_next, their_first..*their_next] })
}

fn extend(merged: &mut Vec<u8>, lines: &[&[u8]]) {
    for line in lines {
        merged.extend_from_slice(line);
    }
}

const LONGEST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
