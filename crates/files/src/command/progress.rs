//! What a long copy says of itself at a terminal.

use super::shown::amount;
use crate::copy::Copied;

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

const WIDTH: u64 = 30;
