//! Finding the marks of attacks in what reaches a server, and reporting each once. A mark is the
//! name of an attack with a semicolon behind it; in a question about a name it is a label.

use std::collections::BTreeSet;
use std::io::Write;

use super::WorldReport;

/// What one server has heard from one client.
#[derive(Debug)]
pub(super) struct Heard {
    at: String,
    bytes: Vec<u8>,
    reported: BTreeSet<&'static str>,
}

impl Heard {
    /// Nothing yet, at the server of this name.
    pub(super) fn at(place: impl Into<String>) -> Self {
        Self { at: place.into(), bytes: Vec::new(), reported: BTreeSet::new() }
    }

    /// Looks for marks in what has come by now.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes.iter().take(LONGEST.saturating_sub(self.bytes.len())));
        for attack in crate::in_world() {
            if has_mark(&self.bytes, attack.name) && self.reported.insert(attack.name) {
                report(attack.name, &self.at);
            }
        }
    }

    /// Looks for marks among the labels of a name.
    pub(super) fn hear_name(&self, name: &str) {
        for label in name.split('.') {
            if let Some(attack) = crate::in_world().find(|attack| attack.name == label) {
                report(attack.name, &self.at);
            }
        }
    }
}

/// Whether bytes hold the mark of an attack, and not that of one whose name only ends like it.
fn has_mark(bytes: &[u8], name: &str) -> bool {
    let mark = format!("{name};");
    let mut places = bytes.windows(mark.len()).enumerate();
    places.any(|(place, part)| {
        let before = place.checked_sub(1).and_then(|before| bytes.get(before));
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        part == mark.as_bytes() && !before.is_some_and(goes_on)
    })
}

/// Reports a mark, in one piece: other processes write to the same pipe.
pub(super) fn report(mark: &str, at: &str) {
    print(&WorldReport::Arrived { mark: mark.to_owned(), at: at.to_owned() });
}

/// Writes one line. There is nobody to tell if that fails: the reader has gone.
pub(super) fn print(report: &WorldReport) {
    if let Ok(line) = serde_json::to_string(report) {
        let mut stdout = std::io::stdout().lock();
        let _unheard = stdout.write_all(format!("{line}\n").as_bytes());
        let _unheard = stdout.flush();
    }
}

/// No attack says more before its mark.
const LONGEST: usize = 64 * 1024;

#[cfg(test)]
mod tests;
