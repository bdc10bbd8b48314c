//! What a repository's configuration makes Git run, obey or read: a reader of Git's own syntax
//! (git-config(1)) for the few keys that name a program, a directory of hooks or a further file.
//! Lenient where Git gives up: a line that cannot be read names nothing and hides no other line.
//! Reads text; never touches a file and expands no variable but the one for the home.

mod harmless;

pub use harmless::starts_nothing;

#[cfg(test)]
mod tests;

/// Something that a value names, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A file of further configuration, relative to the one that includes it.
    Configuration(Vec<u8>),
    /// The directory that other relative paths begin at, relative to the repository.
    WorkTree(Vec<u8>),
    /// A directory of hooks.
    Hooks(Vec<u8>),
    /// No file: the names of objects are those of SHA-256.
    LongObjectNames,
    /// A file that a command may be or use.
    Program {
        /// Its path.
        path: Vec<u8>,
        /// Whether it looks like a path, and not only might be one.
        is_surely_path: bool,
    },
}

/// Everything that a text of configuration names, in its order.
pub(crate) fn named(text: &[u8]) -> Vec<Named> {
    let mut reader = Reader::new(text);
    let mut found = Vec::new();
    while let Some(variable) = reader.next_variable() {
        let Variable { section, key, value: Some(value) } = &variable else { continue };
        match kind(section, key) {
            _ if value.is_empty() => {}
            Some(Kind::Configuration) => found.push(Named::Configuration(value.clone())),
            Some(Kind::WorkTree) => found.push(Named::WorkTree(value.clone())),
            Some(Kind::Hooks) => found.push(Named::Hooks(value.clone())),
            Some(Kind::ObjectFormat) if value.eq_ignore_ascii_case(b"sha256") => {
                found.push(Named::LongObjectNames);
            }
            Some(Kind::ObjectFormat) => {}
            Some(Kind::Command) => found.extend(programs(value)),
            // One without this sign is a command of Git's own.
            Some(Kind::Alias) => {
                let command = value.strip_prefix(b"!");
                found.extend(command.into_iter().flat_map(programs));
            }
            // A remote is a command only in this form.
            Some(Kind::Address) => {
                let command = value.strip_prefix(b"ext::".as_slice());
                found.extend(command.into_iter().flat_map(programs));
            }
            None => {}
        }
    }
    found
}

#[derive(Clone, Copy)]
enum Kind {
    Configuration,
    WorkTree,
    Hooks,
    ObjectFormat,
    Command,
    Alias,
    Address,
}

/// By section and key; a subsection between them makes no difference here.
fn kind(section: &[u8], key: &[u8]) -> Option<Kind> {
    let is = |known: &str, word: &[u8]| known == "*" || known.as_bytes() == word;
    KEYS.iter()
        .find(|(known, keys, _)| is(known, section) && keys.iter().any(|known| is(known, key)))
        .map(|(.., kind)| *kind)
}

/// The files that a command line may use: the whole of it, for it may be one path, and its words.
/// The name of a command without a slash is looked for in `PATH`, and so is none. No more of them than
/// anybody asks for: each is compared with all before it.
fn programs(command: &[u8]) -> Vec<Named> {
    let command = command.strip_prefix(b"!").unwrap_or(command).trim_ascii();
    let mut found: Vec<Named> = Vec::new();
    // `entered` is the directory that the command is in by then, if it has changed that.
    let mut add = |entered: &[u8], path: &[u8], position: Position| {
        let is_option = path.starts_with(b"-") || path.starts_with(b"%");
        let has_slash = path.contains(&b'/') || position == Position::AfterSlash;
        let is_none = path.is_empty() || is_option || (position == Position::First && !has_slash);
        if is_none || found.len() >= MOST_PATHS {
            return;
        }
        let is_surely_path = has_slash || path.contains(&b'.');
        let program = Named::Program { path: entering(entered, path), is_surely_path };
        if !found.contains(&program) {
            found.push(program);
        }
    };
    add(b"", command, Position::First);
    for quoted in command.split(|byte| matches!(byte, b'"' | b'\'')) {
        if quoted.contains(&b' ') {
            add(b"", quoted, Position::First);
        }
    }
    let mut before = b' ';
    let mut last: &[u8] = b"";
    let mut is_first = true;
    let mut entered = Vec::new();
    for part in command.split_inclusive(|byte| b";|&\n".contains(byte)) {
        for word in part.split_inclusive(|byte| is_end_of_word(*byte)) {
            let (word, end) = match word.split_last() {
                Some((last, word)) if is_end_of_word(*last) => (word, *last),
                _ => (word, b' '),
            };
            if let Some(below) = below_home(word, before, last) {
                add(b"", &[b"~/", below].concat(), Position::First);
            }
            // What the command enters may be something else, so that the top counts as well.
            let (path, position) = match after_variable(word, before) {
                Some(below) => (below, Position::AfterSlash),
                None if is_first => (word, Position::First),
                None => (word, Position::Later),
            };
            add(b"", path, position);
            if position != Position::AfterSlash {
                add(&entered, path, position);
            }
            is_first = is_first && word.is_empty();
            (last, before) = (word, end);
        }
        // No path is longer, and a command can enter as many directories as it likes.
        if entered.len() < MOST_PATH_BYTES
            && let Some(directory) = entered_by(part)
        {
            entered = entering(&entered, &directory);
        }
    }
    found
}

/// A path as it is meant in a directory; one from the root or the home is meant as it stands.
fn entering(directory: &[u8], path: &[u8]) -> Vec<u8> {
    if directory.is_empty() || path.starts_with(b"/") || path.starts_with(b"~/") {
        return path.to_vec();
    }
    [directory, b"/", path].concat()
}

/// The directory that a part of a command changes to: `cd tools`, also behind `sh -c '`. What follows a
/// variable or the output of a command is taken from the top of the work tree.
fn entered_by(part: &[u8]) -> Option<Vec<u8>> {
    let starts = (0..part.len()).filter(|start| {
        let before = start.checked_sub(1).and_then(|before| part.get(before));
        before.is_none_or(|byte| is_end_of_word(*byte))
    });
    let mut after = starts.filter_map(|start| part.get(start..)?.strip_prefix(b"cd"));
    let after = after.find(|after| after.first().is_some_and(u8::is_ascii_whitespace))?;
    let bare: Vec<u8> = after.iter().copied().filter(|byte| !b"\"'\\;|&".contains(byte)).collect();
    let mut path = bare.trim_ascii();
    for option in [b"-P ".as_slice(), b"-L ", b"-- "] {
        path = path.strip_prefix(option).unwrap_or(path).trim_ascii();
    }
    if path.is_empty() {
        return None;
    }
    for home in [b"$HOME/".as_slice(), b"${HOME}/"] {
        if let Some(below) = path.strip_prefix(home) {
            return Some([b"~/", below].concat());
        }
    }
    if !path.starts_with(b"$") && !path.starts_with(b"`") {
        return Some(path.strip_suffix(b")").unwrap_or(path).to_vec());
    }
    let end = path.iter().rposition(|byte| b")}`".contains(byte)).unwrap_or_default();
    let rest = path.get(end..)?;
    let slash = rest.iter().position(|byte| *byte == b'/')?;
    rest.get(slash + 1..).map(<[u8]>::to_vec)
}

fn is_end_of_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b";|&()<>{}$\"'`\\=".contains(&byte)
}

/// Where a word of a command stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    First,
    Later,
    /// After a variable and a slash.
    AfterSlash,
}

/// What follows a variable or the output of a command, which usually is the top of the work tree.
fn after_variable(word: &[u8], before: u8) -> Option<&[u8]> {
    let slash = word.iter().position(|byte| *byte == b'/');
    let below = slash.and_then(|slash| word.get(slash + 1..)).unwrap_or_default();
    match before {
        b'$' => Some(below),
        b')' | b'}' | b'"' | b'`' if slash == Some(0) => Some(below),
        _ => None,
    }
}

/// What follows `$HOME/` or `${HOME}/`, of which `last` is the name.
fn below_home<'word>(word: &'word [u8], before: u8, last: &[u8]) -> Option<&'word [u8]> {
    match before {
        b'$' => word.strip_prefix(b"HOME/"),
        b'}' if last == b"HOME" => word.strip_prefix(b"/"),
        _ => None,
    }
}

/// One setting; section and key in lower case.
struct Variable {
    section: Vec<u8>,
    key: Vec<u8>,
    /// None where only the key stands there, which Git takes for `true`.
    value: Option<Vec<u8>>,
}

struct Reader<'text> {
    rest: std::iter::Peekable<std::iter::Copied<std::slice::Iter<'text, u8>>>,
    section: Vec<u8>,
}

impl<'text> Reader<'text> {
    fn new(text: &'text [u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        Self { rest: text.iter().copied().peekable(), section: Vec::new() }
    }

    fn next_variable(&mut self) -> Option<Variable> {
        loop {
            match self.rest.peek().copied()? {
                byte if byte.is_ascii_whitespace() => {
                    self.rest.next();
                }
                b'[' => self.read_section(),
                byte if byte.is_ascii_alphabetic() => return Some(self.read_variable()),
                _ => self.skip_line(),
            }
        }
    }

    /// `[name]`, `[name "subsection"]` or, as it once was, `[name.subsection]`.
    fn read_section(&mut self) {
        self.rest.next();
        self.section.clear();
        let mut in_name = true;
        let mut in_quotes = false;
        while let Some(byte) = self.rest.next_if(|byte| *byte != b'\n') {
            match byte {
                b'\\' if in_quotes => {
                    self.rest.next_if(|byte| *byte != b'\n');
                }
                b'"' => {
                    in_quotes = !in_quotes;
                    in_name = false;
                }
                b']' if !in_quotes => return,
                b'.' => in_name = false,
                byte if byte.is_ascii_whitespace() => in_name = false,
                byte if in_name => self.section.push(byte.to_ascii_lowercase()),
                _ => {}
            }
        }
    }

    /// A key and its value.
    fn read_variable(&mut self) -> Variable {
        let mut key = Vec::new();
        let in_key = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        while let Some(byte) = self.rest.next_if(in_key) {
            key.push(byte.to_ascii_lowercase());
        }
        while self.rest.next_if(|byte| matches!(byte, b' ' | b'\t')).is_some() {}
        let value = match self.rest.next_if_eq(&b'=') {
            Some(_) => Some(self.read_value()),
            None => {
                self.skip_line();
                None
            }
        };
        Variable { section: self.section.clone(), key, value }
    }

    fn read_value(&mut self) -> Vec<u8> {
        let mut value = Vec::new();
        // Up to here the value is kept although it ends in a space.
        let mut kept = 0;
        let mut in_quotes = false;
        while let Some(byte) = self.rest.next() {
            match byte {
                b'\n' => break,
                b'#' | b';' if !in_quotes => {
                    self.skip_line();
                    break;
                }
                b'"' => {
                    in_quotes = !in_quotes;
                    kept = value.len();
                }
                b'\\' => {
                    self.read_escaped(&mut value);
                    kept = value.len();
                }
                byte if byte.is_ascii_whitespace() && !in_quotes => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                byte => {
                    value.push(byte);
                    kept = value.len();
                }
            }
        }
        value.truncate(kept);
        value
    }

    fn read_escaped(&mut self, value: &mut Vec<u8>) {
        self.rest.next_if_eq(&b'\r');
        match self.rest.next() {
            // The line goes on.
            None | Some(b'\n') => {}
            Some(b'n') => value.push(b'\n'),
            Some(b't') => value.push(b'\t'),
            Some(b'b') => value.push(8),
            Some(byte) => value.push(byte),
        }
    }

    fn skip_line(&mut self) {
        while self.rest.next().is_some_and(|byte| byte != b'\n') {}
    }
}

/// Section, keys, and what their values are. Without those that run only what a person types, such
/// as aliases.
const KEYS: &[(&str, &[&str], Kind)] = &[
    ("include", &["path"], Kind::Configuration),
    ("includeif", &["path"], Kind::Configuration),
    ("core", &["worktree"], Kind::WorkTree),
    ("core", &["hookspath"], Kind::Hooks),
    ("extensions", &["objectformat"], Kind::ObjectFormat),
    ("init", &["templatedir"], Kind::Hooks),
    ("core", &["fsmonitor", "sshcommand", "editor", "pager", "askpass"], Kind::Command),
    ("core", &["gitproxy", "alternaterefscommand"], Kind::Command),
    ("sequence", &["editor"], Kind::Command),
    ("pager", &["*"], Kind::Command),
    ("hook", &["command"], Kind::Command),
    ("credential", &["helper"], Kind::Command),
    ("filter", &["clean", "smudge", "process"], Kind::Command),
    ("diff", &["external", "command", "textconv"], Kind::Command),
    ("interactive", &["difffilter"], Kind::Command),
    ("merge", &["driver"], Kind::Command),
    ("difftool", &["cmd", "path"], Kind::Command),
    ("mergetool", &["cmd", "path"], Kind::Command),
    ("gpg", &["program", "defaultkeycommand"], Kind::Command),
    ("trailer", &["command", "cmd"], Kind::Command),
    ("submodule", &["update"], Kind::Command),
    ("remote", &["uploadpack", "receivepack"], Kind::Command),
    ("remote", &["url", "pushurl"], Kind::Address),
    ("lfs", &["path", "clean", "smudge"], Kind::Command),
    ("tar", &["command"], Kind::Command),
    ("browser", &["cmd", "path"], Kind::Command),
    ("man", &["cmd", "path"], Kind::Command),
    ("guitool", &["cmd"], Kind::Command),
    ("sendemail", &["smtpserver", "sendmailcmd", "tocmd", "cccmd", "headercmd"], Kind::Command),
    ("imap", &["tunnel"], Kind::Command),
    ("uploadpack", &["packobjectshook"], Kind::Command),
    ("gc", &["recentobjectshook"], Kind::Command),
    ("instaweb", &["httpd", "browser"], Kind::Command),
    ("alias", &["*"], Kind::Alias),
];

/// How many paths one configuration may name.
pub(super) const MOST_PATHS: usize = 256;

/// PATH_MAX of the kernel.
const MOST_PATH_BYTES: usize = 4096;
