//! What the daemon says to whoever started it: one line each on standard error, where a service
//! manager keeps it. What happens to cages is in the audit log.

use std::io::Write as _;

/// Something worth knowing.
pub(crate) fn note(text: &str) {
    line("note", text);
}

/// Something that may not be wanted.
pub(crate) fn warning(text: &str) {
    line("warning", text);
}

/// Nobody is left to be told that standard error is closed.
fn line(label: &str, text: &str) {
    let text = format!("stockade: {label}: {}\n", policy::shown::shown(text));
    let _closed = std::io::stderr().lock().write_all(text.as_bytes());
}
