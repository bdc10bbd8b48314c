//! Tables of operations as text: one on each line, with what must come of it. Read into operations; runs nothing itself.
//!
//! ```text
//! case NAME
//! [u1] COMMAND ARGUMENT… [-> ERRNO | = TEXT | FIELD=VALUE…]
//! ```
//! Whoever is not named is root; `u1` and `u2` are users, `u3` one who is in the group of `u1` too. `@255` in a path is a
//! name of that length, `''` an empty one.

use vfs::{Allocate, Kind, Replace, Seek, SetXattr};

use crate::operation::{Answer, Call, Flags, Operation, Outcome, Stat};

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) line: String,
    pub(crate) operation: Operation,
    pub(crate) expected: Expected,
}

/// What must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Success,
    Errno(i32),
    Text(String),
    Fields(Vec<(String, String)>),
}

/// Operations that begin with nothing.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("case ") {
            cases.push(Case { name: name.to_owned(), steps: Vec::new() });
            continue;
        }
        let case = cases.last_mut().expect("a case comes first");
        case.steps.extend(steps(line));
    }
    cases
}

fn steps(line: &str) -> Vec<Step> {
    let (command, expected) = match line.split_once(" -> ") {
        Some((command, expected)) => (command, read_expected(expected.trim())),
        None => (line, Expected::Success),
    };
    let mut words: Vec<&str> = command.split_whitespace().collect();
    let who = match words[0] {
        "u1" => 1,
        "u2" => 2,
        "u3" => 3,
        _ => 0,
    };
    if who > 0 {
        words.remove(0);
    }
    let step = |call, expected| Step {
        line: line.to_owned(),
        operation: Operation { who, call },
        expected,
    };
    let flags = |text: &str| read_flags(text);
    match words[..] {
        // A file that is there and holds this.
        ["file", at, bits, ref rest @ ..] => {
            let open = Call::Open {
                slot: 5,
                path: path(at),
                flags: flags("w+creat+excl"),
                mode: mode(bits),
            };
            if expected != Expected::Success {
                return vec![step(open, expected)];
            }
            let bytes = rest.join(" ").into_bytes();
            let write = Call::WriteOn { slot: 5, bytes };
            vec![
                step(open, Expected::Success),
                step(write, Expected::Success),
                step(Call::Close(5), Expected::Success),
                step(Call::SetMode(path(at), mode(bits)), Expected::Success),
            ]
        }
        ["cat", at] => {
            let open = Call::Open { slot: 5, path: path(at), flags: flags("r"), mode: 0 };
            if matches!(expected, Expected::Errno(_)) {
                return vec![step(open, expected)];
            }
            let read = Call::Read { slot: 5, offset: 0, count: 4096 };
            vec![
                step(open, Expected::Success),
                step(read, expected),
                step(Call::Close(5), Expected::Success),
            ]
        }
        _ => vec![step(call(&words), expected)],
    }
}

fn call(words: &[&str]) -> Call {
    let id = |text: &str| (text != "-").then(|| text.parse().unwrap());
    let time = |text: &str| (text != "-").then(|| text.parse().unwrap());
    let slot = |text: &str| text.parse::<usize>().unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    match *words {
        ["mkdir", at, bits] => Call::MakeDirectory(path(at), mode(bits)),
        ["mkfifo", at, bits] => Call::MakeFifo(path(at), mode(bits)),
        ["open", of, at, how] => {
            Call::Open { slot: slot(of), path: path(at), flags: read_flags(how), mode: 0 }
        }
        ["open", of, at, how, bits] => {
            Call::Open { slot: slot(of), path: path(at), flags: read_flags(how), mode: mode(bits) }
        }
        ["close", of] => Call::Close(slot(of)),
        ["read", of, offset, count] => {
            Call::Read { slot: slot(of), offset: number(offset), count: count.parse().unwrap() }
        }
        ["readon", of, count] => Call::ReadOn { slot: slot(of), count: count.parse().unwrap() },
        ["write", of, offset, text] => {
            Call::Write { slot: slot(of), offset: number(offset), bytes: text.as_bytes().to_vec() }
        }
        ["writeon", of, text] => Call::WriteOn { slot: slot(of), bytes: text.as_bytes().to_vec() },
        ["truncate", at, size] => Call::SetSize(path(at), number(size)),
        ["ftruncate", of, size] => Call::SetSizeOpen(slot(of), number(size)),
        ["fallocate", of, how, offset, length] => {
            let how = match how {
                "extend" => Allocate::Extend,
                "keep" => Allocate::KeepSize,
                _ => Allocate::PunchHole,
            };
            let (offset, length) = (number(offset), number(length));
            Call::Allocate { slot: slot(of), how, offset, length }
        }
        ["seek", of, "data", offset] => {
            Call::Seek { slot: slot(of), what: Seek::Data, offset: number(offset) }
        }
        ["seek", of, "hole", offset] => {
            Call::Seek { slot: slot(of), what: Seek::Hole, offset: number(offset) }
        }
        ["stat", at] => Call::Stat(path(at), true),
        ["lstat", at] => Call::Stat(path(at), false),
        ["fstat", of] => Call::StatOpen(slot(of)),
        ["unlink", at] => Call::Unlink(path(at)),
        ["rmdir", at] => Call::RemoveDirectory(path(at)),
        ["rename", from, to] => Call::Rename(path(from), path(to), Replace::Yes),
        ["rename", from, to, "keep"] => Call::Rename(path(from), path(to), Replace::No),
        ["rename", from, to, "exchange"] => Call::Rename(path(from), path(to), Replace::Exchange),
        ["link", from, to] => Call::Link(path(from), path(to)),
        ["symlink", target, at] => Call::Symlink(path(target), path(at)),
        ["readlink", at] => Call::ReadLink(path(at)),
        ["chmod", at, bits] => Call::SetMode(path(at), mode(bits)),
        ["fchmod", of, bits] => Call::SetModeOpen(slot(of), mode(bits)),
        ["chown", at, uid, gid] => Call::SetOwner(path(at), id(uid), id(gid), true),
        ["lchown", at, uid, gid] => Call::SetOwner(path(at), id(uid), id(gid), false),
        ["utimes", at, accessed, modified] => {
            Call::SetTimes(path(at), time(accessed), time(modified), true)
        }
        ["lutimes", at, accessed, modified] => {
            Call::SetTimes(path(at), time(accessed), time(modified), false)
        }
        ["touch", at] => Call::TouchNow(path(at)),
        ["list", at] => Call::List(path(at)),
        ["setxattr", at, name, value, ref how @ ..] => {
            let how = match how {
                ["create"] => SetXattr::Create,
                ["replace"] => SetXattr::Replace,
                _ => SetXattr::Any,
            };
            Call::SetXattr(path(at), path(name), path(value), how)
        }
        ["getxattr", at, name] => Call::Xattr(path(at), path(name)),
        ["listxattr", at] => Call::Xattrs(path(at)),
        ["removexattr", at, name] => Call::RemoveXattr(path(at), path(name)),
        _ => panic!("no operation: {words:?}"),
    }
}

fn path(text: &str) -> Vec<u8> {
    if text == "''" {
        return Vec::new();
    }
    let mut path = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '@' {
            path.extend(letter.to_string().into_bytes());
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        path.extend(vec![b'x'; digits.parse().unwrap()]);
    }
    path
}

fn mode(text: &str) -> u32 {
    u32::from_str_radix(text, 8).unwrap()
}

fn read_flags(text: &str) -> Flags {
    let mut flags = Flags::default();
    for word in text.split('+') {
        match word {
            "r" => flags.read = true,
            "w" => flags.write = true,
            "rw" => (flags.read, flags.write) = (true, true),
            "append" => flags.append = true,
            "creat" => flags.create = true,
            "excl" => flags.exclusive = true,
            "trunc" => flags.truncate = true,
            "dir" => flags.directory = true,
            "nofollow" => flags.no_follow = true,
            other => panic!("no flag: {other}"),
        }
    }
    flags
}

fn read_expected(text: &str) -> Expected {
    if let Some(text) = text.strip_prefix('=') {
        return Expected::Text(text.trim_start().to_owned());
    }
    if let Some((_, number)) = ERRNOS.iter().find(|(name, _)| *name == text) {
        return Expected::Errno(*number);
    }
    let field = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("no outcome: {text}"));
        (name.to_owned(), value.to_owned())
    };
    Expected::Fields(text.split_whitespace().map(field).collect())
}

impl Expected {
    /// Whether that is what came.
    pub(crate) fn fits(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Success, Ok(_)) => true,
            (Self::Errno(expected), Err(found)) => expected == found,
            (Self::Text(text), Ok(answer)) => *text == shown(answer),
            (Self::Fields(fields), Ok(Answer::Stat(stat))) => {
                fields.iter().all(|(name, value)| field(stat, name) == *value)
            }
            _ => false,
        }
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Nothing | Answer::Stat(_) => String::new(),
        Answer::Bytes(bytes) => String::from_utf8_lossy(bytes).replace('\0', "~"),
        Answer::Number(number) => number.to_string(),
        Answer::Names(names) => {
            let names = names.iter().map(|name| String::from_utf8_lossy(name));
            let names = names.filter(|name| !matches!(&**name, "." | ".." | "proc"));
            names.collect::<Vec<_>>().join(" ")
        }
    }
}

fn field(stat: &Stat, name: &str) -> String {
    match name {
        "kind" => match stat.kind {
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Link => "link",
            Kind::Fifo => "fifo",
            _ => "other",
        }
        .to_owned(),
        "mode" => format!("{:o}", stat.mode),
        "links" => stat.links.to_string(),
        "uid" => stat.uid.to_string(),
        "gid" => stat.gid.to_string(),
        "size" => stat.size.to_string(),
        "modified" => stat.modified.map_or_else(|| "now".to_owned(), |time| time.to_string()),
        other => panic!("no field: {other}"),
    }
}

const ERRNOS: &[(&str, i32)] = &[
    ("EPERM", 1),
    ("ENOENT", 2),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("EBADF", 9),
    ("EACCES", 13),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("EMLINK", 31),
    ("ERANGE", 34),
    ("ENAMETOOLONG", 36),
    ("ENOTEMPTY", 39),
    ("ELOOP", 40),
    ("ENODATA", 61),
    ("EOPNOTSUPP", 95),
];
