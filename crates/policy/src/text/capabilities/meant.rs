//! What was likely meant by a capability that cannot be taken. Only ever offers what can be taken.

use super::read;
use crate::Place;
use crate::text::words;

/// A capability close to what was written.
pub(super) fn by(written: &str, place: &Place) -> Option<String> {
    let trimmed = written.trim();
    let candidates =
        [Some(trimmed.to_owned()), with_port(trimmed), program_of_path(trimmed), spelled(trimmed)];
    let can_be_taken = |candidate: &String| candidate != written && read(candidate, place).is_ok();
    candidates.into_iter().flatten().find(can_be_taken)
}

/// `net:example.com`
fn with_port(written: &str) -> Option<String> {
    let host = written.strip_prefix("net:")?;
    let host = host.strip_prefix("https://").unwrap_or(host);
    let (host, port) = match host.strip_prefix("http://") {
        Some(host) => (host, 80),
        None => (host, 443),
    };
    Some(format!("net:{}:{port}", host.split('/').next()?))
}

/// `exec:/usr/bin/git`
fn program_of_path(written: &str) -> Option<String> {
    let name = written.strip_prefix("exec:")?.rsplit('/').next()?;
    Some(format!("exec:{}", name.split_whitespace().next()?))
}

/// `raed:fs:src`, `fs:read:src`, `read:src`, `rw:src`, `connect:host:80`, `run:git`
fn spelled(written: &str) -> Option<String> {
    let (first, rest) = written.split_once(':')?;
    let first = first.trim().to_lowercase();
    // Both orders are common, and so is leaving the word for files out.
    let (verb, rest) = match rest.split_once(':') {
        Some((second, rest)) if is_files(&first) => (second.trim().to_lowercase(), rest),
        Some((second, rest)) if is_files(second) => (first, rest),
        _ => (first, rest),
    };
    let exact = WORDS.iter().find(|(word, _)| *word == verb);
    let (_, prefix) = match exact {
        Some(found) => found,
        None => {
            let close = words::meant(&verb, WORDS.iter().map(|(word, _)| *word))?;
            WORDS.iter().find(|(word, _)| *word == close)?
        }
    };
    let spelled = format!("{prefix}{rest}");
    with_port(&spelled).filter(|_| !rest.contains(':')).or(Some(spelled))
}

fn is_files(word: &str) -> bool {
    let word = word.trim();
    ["fs", "file", "files", "filesystem", "path"]
        .iter()
        .any(|files| word.eq_ignore_ascii_case(files))
}

/// Words that people use, and the capability that each stands for.
const WORDS: &[(&str, &str)] = &[
    ("read", "read:fs:"),
    ("ro", "read:fs:"),
    ("readonly", "read:fs:"),
    ("write", "write:fs:"),
    ("rw", "write:fs:"),
    ("readwrite", "write:fs:"),
    ("net", "net:"),
    ("network", "net:"),
    ("connect", "net:"),
    ("tcp", "net:"),
    ("exec", "exec:"),
    ("execute", "exec:"),
    ("run", "exec:"),
    ("command", "exec:"),
];
