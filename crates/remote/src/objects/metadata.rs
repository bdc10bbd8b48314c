//! Notes in the metadata of an object: headers whose names begin alike. Two of them are ours; all others somebody else
//! has there, and a change of ours does not change those. Pure.

use crate::backend::MetaKind;
use crate::failure::{Failure, Why};
use crate::http::{Answer, Headers};
use crate::notes::Notes;

use super::Linked;

/// How a store has them.
pub(crate) struct Metadata {
    /// What all names begin with.
    pub(crate) start: &'static str,
    /// Has the notes of an object.
    pub(crate) notes: &'static str,
    /// Has the names of the file that the object is of, if it has several.
    pub(crate) names: &'static str,
    /// The bytes of all names and values of an object, as the protocol has it.
    pub(crate) most: usize,
}

impl Metadata {
    /// What is noted of an object of this size, by an answer about it.
    pub(crate) fn read(&self, key: &str, size: u64, answer: &Answer) -> Option<Notes> {
        let notes = answer.header(self.notes).and_then(Notes::parse)?;
        let linked = answer.header(self.names).and_then(|text| Linked::parse(text, key));
        let linked = linked.unwrap_or_default();
        let further_names = linked.further_names();
        Some(Notes { linked, further_names, ..notes.of(MetaKind::File, size) })
    }

    /// What others have there, and these headers: what a change of ours says again. None if some of it is no text, which
    /// cannot be said again.
    pub(crate) fn others(&self, answer: &Answer, also: &[&str]) -> Option<Headers> {
        let is_kept = |name: &str| {
            name.starts_with(self.start) && name != self.notes && name != self.names
                || also.contains(&name)
        };
        let kept = answer.headers().filter(|(name, _)| is_kept(name));
        kept.map(|(name, value)| Some((name.to_owned().into(), value?.to_owned()))).collect()
    }

    /// The headers that have the notes, if there is room for them beside what others have there.
    pub(crate) fn written(
        &self,
        key: &str,
        notes: Option<&Notes>,
        others: &Headers,
    ) -> Result<Headers, Failure> {
        let Some(notes) = notes else { return Ok(Headers::new()) };
        let mut written: Headers = vec![(self.notes.into(), notes.encode())];
        written.extend(notes.linked.encode().map(|names| (self.names.into(), names)));
        let all = written.iter().chain(others).filter(|(name, _)| name.starts_with(self.start));
        let length: usize =
            all.map(|(name, value)| name.len() - self.start.len() + value.len()).sum();
        if length <= self.most {
            return Ok(written);
        }
        Err(Failure { action: format!("note something of `{key}`"), why: Why::TooMuchNoted })
    }
}

/// By which a file is known of which this is noted; empty if its name alone says which it is.
pub(crate) fn id(notes: Option<&Notes>) -> String {
    notes.map(|notes| notes.linked.id().to_owned()).unwrap_or_default()
}
