//! What a cage shows and reaches, as the record has it: once for each hash. Long ones take several
//! records; none is cut.

use audit::{Event, LONGEST_LINE, Name, Text};
use plan::Plan;

/// The records that describe a cage.
pub(super) fn description(hash: &Name, plan: &Plan) -> Vec<Event> {
    let mut parts = vec![Vec::new()];
    let mut room = ROOM;
    for entry in plan::render::entries(&plan.walls) {
        let entry = Text::from(entry.as_slice());
        // A backslash takes two bytes in JSON; then there are quotes and a comma.
        let taken = 2 * entry.as_str().len() + 3;
        if taken > room {
            parts.push(Vec::new());
            room = ROOM;
        }
        room = room.saturating_sub(taken);
        if let Some(part) = parts.last_mut() {
            part.push(entry);
        }
    }
    let count = parts.len() as u64;
    (1..)
        .zip(parts)
        .map(|(part, entries)| Event::SandboxCage {
            effective_cage_hash: hash.clone(),
            part,
            parts: count,
            entries,
        })
        .collect()
}

/// For entries in one record, beside its other fields.
const ROOM: usize = LONGEST_LINE - 1024;
