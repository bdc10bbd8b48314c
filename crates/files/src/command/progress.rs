//! A bar on standard error that says how far a long copy is, at a terminal alone. It is gone when the copy is done.

use std::io::Write as _;
use std::time::{Duration, Instant};

use super::shown::amount;
use crate::copy::Copied;

/// The bar. Dropping it takes it away.
#[derive(Debug)]
pub(super) struct Bar {
    total: Option<u64>,
    next: Instant,
    is_shown: bool,
}

impl Bar {
    /// One that is not shown yet, for so many bytes; none where nobody knows.
    pub(super) fn new(total: Option<u64>) -> Self {
        Self { total, next: Instant::now() + PATIENCE, is_shown: false }
    }

    /// Shows how far it is, from time to time.
    pub(super) fn show(&mut self, copied: &Copied) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + BETWEEN;
        self.is_shown = true;
        write(&format!("\r\x1b[K{}", line(copied, self.total)));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_shown {
            write("\r\x1b[K");
        }
    }
}

/// As it is drawn.
pub(super) fn line(copied: &Copied, total: Option<u64>) -> String {
    let (done, files) = (copied.bytes, copied.files);
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{}, {files} files", amount(done));
    };
    // What grew meanwhile is not more than all of it.
    let part = done.min(total).saturating_mul(WIDTH) / total;
    let filled = usize::try_from(part).unwrap_or_default();
    let rest = usize::try_from(WIDTH - part).unwrap_or_default();
    format!(
        "[{}{}] {} of {}, {files} files",
        "#".repeat(filled),
        " ".repeat(rest),
        amount(done),
        amount(total)
    )
}

fn write(text: &str) {
    // Nobody is left to be told.
    let _gone = std::io::stderr().lock().write_all(text.as_bytes());
}

const WIDTH: u64 = 30;
/// Work that takes less says nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN: Duration = Duration::from_millis(100);
