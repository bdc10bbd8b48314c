//! Notes as the private properties of a file: 28 of at most 124 bytes each, name included. Also the property of an entry
//! that is one more name of another file. Pure.

use serde_json::{Map, Value};

use crate::notes::Notes;

/// The notes among the properties of a file; none where there are none that are ours.
pub(super) fn noted(file: &Value) -> Option<Notes> {
    let all = file.get("appProperties")?.as_object()?;
    let part = |number: usize| all.get(&key(number))?.as_str();
    // How long it is stands first: a part that is left of a longer text is none of it.
    let (length, first) = part(0)?.split_once(':')?;
    let length = length.parse().ok().filter(|length| *length <= MOST)?;
    let mut text = first.to_owned();
    for number in 1..PARTS {
        if text.len() >= length {
            break;
        }
        text.push_str(part(number)?);
    }
    if text.len() == length { Notes::parse(&text) } else { None }
}

/// The file that an entry is one more name of.
pub(super) fn named(file: &Value) -> Option<String> {
    let id = file.get("appProperties")?.get(NAME_OF)?.as_str()?;
    Some(id.to_owned())
}

/// The properties for notes, and nothing where there were more before; none if they are too much.
pub(super) fn properties(notes: &Notes, before: Option<&Notes>) -> Option<Map<String, Value>> {
    let parts = parts(notes)?;
    let were = before.and_then(self::parts).map_or(0, |parts| parts.len());
    let mut all = Map::new();
    for number in parts.len()..were {
        all.insert(key(number), Value::Null);
    }
    for (number, part) in parts.into_iter().enumerate() {
        all.insert(key(number), part.into());
    }
    Some(all)
}

/// The properties of one more name of a file. Its notes say what a listing shows.
pub(super) fn name_of(id: &str, notes: &Notes) -> Option<Map<String, Value>> {
    let mut all = properties(&Notes { kind: notes.kind, ..Notes::default() }, None)?;
    let is_room = NAME_OF.len() + id.len() <= MOST_BYTES;
    all.insert(NAME_OF.to_owned(), is_room.then(|| id.into())?);
    Some(all)
}

/// Texts without anything that is more than one byte.
fn parts(notes: &Notes) -> Option<Vec<String>> {
    let text = notes.encode();
    let text = format!("{}:{text}", text.len());
    let room = MOST_BYTES - key(0).len();
    let parts: Vec<String> = text
        .as_bytes()
        .chunks(room)
        .map(|part| part.iter().copied().map(char::from).collect())
        .collect();
    (parts.len() <= PARTS).then_some(parts)
}

fn key(number: usize) -> String {
    format!("stockade{number:02}")
}

/// By which an entry says that it is another name of a file.
pub(super) const NAME_OF: &str = "stockadename";
/// As the service has it, of a name and its value together.
const MOST_BYTES: usize = 124;
/// The service keeps 30 of one program.
const PARTS: usize = 28;
const MOST: usize = PARTS * MOST_BYTES;

#[cfg(test)]
mod tests;
