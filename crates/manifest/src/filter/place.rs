//! The path that a text names, if it names one: as a program or a shell would take it. Lexical, and
//! errs towards finding one; only ever used to refuse.

use plan::HostPath;

/// What a text names.
pub(super) enum Named {
    /// This path, with `.`, `..` and doubled slashes taken out.
    At(HostPath),
    /// A path in the home, and there is none.
    NoHome,
    /// No absolute path.
    NotAPath,
}

pub(super) fn of(text: &str, home: Option<&HostPath>) -> Named {
    let text = text.trim();
    let decoded;
    let text = match file_url(text) {
        Some(path) => {
            decoded = percent_decoded(path);
            decoded.as_str()
        }
        None => text,
    };
    if text.starts_with('/') {
        return normal(HostPath::root(), text);
    }
    for beginning in ["~", "$HOME", "${HOME}"] {
        if let Some(rest) = text.strip_prefix(beginning)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return home.map_or(Named::NoHome, |home| normal(home.clone(), rest));
        }
    }
    // The home of somebody else, where homes are.
    match text.strip_prefix('~') {
        Some("root") => normal(HostPath::root(), "root"),
        Some(rest) if rest.starts_with("root/") => normal(HostPath::root(), rest),
        Some(rest) => normal(HostPath::root(), &format!("home/{rest}")),
        None => Named::NotAPath,
    }
}

/// Whether a URL is that of a file.
pub(super) fn is_file_url(text: &str) -> bool {
    file_url(text.trim()).is_some()
}

/// What follows `file:`, without an empty or local host.
fn file_url(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let Some(after) = rest.strip_prefix("//") else { return Some(rest) };
    Some(after.find('/').and_then(|slash| after.get(slash..)).unwrap_or(after))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hexadecimal = |byte: &u8| char::from(*byte).to_digit(16);
        match (first, after) {
            (b'%', [high, low, after @ ..]) => match (hexadecimal(high), hexadecimal(low)) {
                (Some(high), Some(low)) => {
                    bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                    rest = after;
                    continue;
                }
                _ => bytes.push(b'%'),
            },
            (byte, _) => bytes.push(*byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Takes `..` by its text: where a link leads is for the cage to hold.
fn normal(base: HostPath, text: &str) -> Named {
    let mut path = base;
    for segment in text.split('/') {
        path = match segment {
            "" | "." => path,
            ".." => path.parent().unwrap_or_else(HostPath::root),
            name => match path.join(name) {
                Ok(path) => path,
                // Too long for the kernel, or a NUL, where the path ends for it: what stands before
                // it is looked at.
                Err(_) => {
                    let name = name.split('\0').next().unwrap_or_default();
                    return Named::At(path.join(name).unwrap_or(path));
                }
            },
        };
    }
    Named::At(path)
}
