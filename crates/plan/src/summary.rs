//! What a person reads about a cage: derived by the compiler, never read by an enforcer.

use std::fmt::Write as _;

use crate::network::MODEL_PORT;
use crate::{BindPurpose, ByteString, GatekeeperPlan, MountOp, NetworkPlan, Plan};

impl Plan {
    /// The cage in one line. Values are free of white space, commas and control characters, so
    /// that the line can be cut into words and shown on a terminal.
    pub fn one_line(&self) -> String {
        let prefix: String = self.start.invocation.chars().take(INVOCATION_PREFIX).collect();
        let served = self.walls.mounts.iter().filter_map(MountOp::served);
        // A view is told of by its own word.
        let served = served.filter(|served| served.from.layers().is_none());
        let served = served.map(|served| ("served", &served.at));
        let grants = self.walls.mounts.iter().filter_map(MountOp::granted).chain(served);
        let mut line = format!("cage[{}@{prefix}] fs=", self.walls.cage);
        let before = line.len();
        for (word, at) in grants {
            line.push_str(if line.len() == before { "" } else { "," });
            line.push_str(word);
            line.push(':');
            push_word(&mut line, at.as_bytes());
        }
        if line.len() == before {
            line.push_str(NONE);
        }
        let net = match &self.walls.network {
            NetworkPlan::Loopback => NONE.to_owned(),
            NetworkPlan::Gatekeeper(gatekeeper) => list(connections(gatekeeper)),
        };
        let state = if self.keeps_scratch() { "scratch" } else { "ephemeral" };
        let memory =
            self.walls.limits.memory_mb.map_or("unlimited".to_owned(), |mb| format!("{mb}mb"));
        let walltime =
            self.walls.limits.walltime_sec.map_or("unlimited".to_owned(), |s| format!("{s}s"));
        // Writing to a string cannot fail.
        let _ = write!(line, " net={net} state={state} mem={memory} walltime={walltime}");
        line
    }

    /// Whether `/scratch` is a directory of the host that outlives the run.
    pub fn keeps_scratch(&self) -> bool {
        let mut binds = self.walls.mounts.iter().filter_map(MountOp::bind);
        binds.any(|bind| bind.purpose == BindPurpose::Scratch)
    }
}

/// Everything that a cage is connected to. No host is written with `!` or with brackets around its
/// port, so none can be taken for one of the other kinds.
fn connections(gatekeeper: &GatekeeperPlan) -> impl Iterator<Item = String> {
    let GatekeeperPlan { allow, deny, reasons: _, host_ports, publish } = gatekeeper;
    let allowed = allow.iter().map(ToString::to_string);
    let denied = deny.iter().map(|entry| format!("!{entry}"));
    let led_out = host_ports.iter().map(|port| match *port {
        MODEL_PORT => "model".to_owned(),
        port => format!("host[{port}]"),
    });
    let published = publish.iter().map(|port| format!("publish[{port}]"));
    allowed.chain(denied).chain(led_out).chain(published)
}

/// Adds text for one field of a line: letters, digits and plain signs as they are, the rest as `\xNN`.
/// Bidirectional marks and other invisible characters count as the rest.
fn push_word(text: &mut String, bytes: &[u8]) {
    push_escaped(text, bytes, |character| "/._-+:@*~%!?[]{}()&^$".contains(character));
}

/// Text for a line of its own: like [`push_word`], with spaces and all visible ASCII signs.
pub(crate) fn one_phrase(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let is_plain = |character: char| character == ' ' || character.is_ascii_punctuation();
    push_escaped(&mut text, bytes, is_plain);
    text
}

fn push_escaped(text: &mut String, bytes: &[u8], is_plain: impl Fn(char) -> bool) {
    // Most paths have nothing to escape, and there can be a thousand of them.
    let is_common =
        |byte: &u8| byte.is_ascii_alphanumeric() | matches!(byte, b'/' | b'.' | b'_' | b'-');
    if let Ok(plain) = std::str::from_utf8(bytes)
        && bytes.iter().all(is_common)
    {
        text.push_str(plain);
        return;
    }
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character != '\\' && (character.is_alphanumeric() || is_plain(character)) {
                text.push(character);
            } else {
                let escaped = ByteString::from(character.to_string());
                text.extend(escaped.as_bytes().iter().map(|byte| format!("\\x{byte:02x}")));
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let joined = items.collect::<Vec<_>>().join(",");
    if joined.is_empty() { NONE.to_owned() } else { joined }
}

/// For a list without items.
const NONE: &str = "none";

/// How many characters of the invocation name a cage to a person.
const INVOCATION_PREFIX: usize = 8;

#[cfg(test)]
mod tests;
