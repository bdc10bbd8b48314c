//! Settings written as lines: `key = value` under `[sections]`, as pip, npm, Git and Go have them. Knows no
//! key; what cannot be read is left out.

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// In lower case; empty before the first one.
    pub(super) section: String,
    /// As written.
    pub(super) key: String,
    /// Without quotes around it. Lines that continue it are joined by blanks.
    pub(super) value: String,
}

/// Reads them, in the order of the text.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            section = rest.split(']').next().unwrap_or("").trim().to_ascii_lowercase();
            continue;
        }
        match trimmed.split_once('=') {
            // A value may go on in lines that begin with a blank; a key may be indented too, as Git's are.
            None if line.starts_with([' ', '\t']) => {
                if let Some(last) = settings.last_mut() {
                    last.value = format!("{} {trimmed}", last.value).trim().to_owned();
                }
            }
            None => {}
            Some((key, value)) if is_key(key.trim()) => settings.push(Setting {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: unquoted(value.trim()).to_owned(),
            }),
            Some(_) => {
                if let Some(last) = settings.last_mut() {
                    last.value = format!("{} {trimmed}", last.value).trim().to_owned();
                }
            }
        }
    }
    settings
}

/// An address with a query is no key.
fn is_key(text: &str) -> bool {
    !text.is_empty() && !text.contains("://") && !text.contains(char::is_whitespace)
}

fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    inner.unwrap_or(value)
}
