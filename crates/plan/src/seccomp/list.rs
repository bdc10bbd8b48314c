//! Reads a profile's list of system calls (`profiles/*.list`). The same code runs when the crate is
//! built, to make the filters, and at run time, to name the line behind an answer. Never falls back:
//! a word it does not know is an error, and so fails the build.

use super::arch::Arch;

/// A list as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// In order.
    pub(crate) rules: Vec<Rule>,
    /// What a call gets that no rule answers: this error, or that it is allowed.
    pub(crate) otherwise: Option<u16>,
}

/// One rule of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Its line, counted from 1.
    pub(crate) line: usize,
    /// What happens.
    pub(crate) answer: Answer,
    /// To which calls.
    pub(crate) calls: Vec<Call>,
    /// All of these must hold.
    pub(crate) terms: Vec<Term>,
}

/// What a rule answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allow,
    /// `EPERM`, told to the supervisor.
    Refuse,
    /// `SIGSYS`, told to the supervisor.
    Kill,
    /// An error number, told to nobody.
    Errno(u16),
    /// Success, without the call being made.
    Ignore,
    /// The call happens, and whoever watches is told before it does.
    Watch,
}

/// A system call as a list names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The only architecture that has it, where the list says so.
    pub(crate) only: Option<Arch>,
}

/// A test of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// The lower half is equal to one of these.
    Is { argument: u8, values: Vec<u32> },
    /// Any of these bits of the lower half is set.
    Has { argument: u8, bits: u32 },
    /// A pointer to nothing: both halves are 0.
    Null { argument: u8 },
}

/// Why a list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct ListError {
    pub(crate) line: usize,
    pub(crate) problem: String,
}

/// Reads a list.
pub(crate) fn parse(text: &str) -> Result<List, ListError> {
    let mut list = List::default();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at_line = |problem| ListError { line: line_number, problem };
        if let Some(name) = line.strip_prefix("otherwise ") {
            if !list.rules.is_empty() || list.otherwise.is_some() {
                return Err(at_line("`otherwise` is the first line of a list".to_owned()));
            }
            list.otherwise = Some(errno(name.trim()).map_err(at_line)?);
            continue;
        }
        list.rules.push(parse_rule(line_number, line, list.otherwise).map_err(at_line)?);
    }
    Ok(list)
}

fn parse_rule(line: usize, text: &str, otherwise: Option<u16>) -> Result<Rule, String> {
    let (head, condition) = match text.split_once(" if ") {
        Some((head, condition)) => (head, Some(condition)),
        None => (text, None),
    };
    let mut words = head.split_whitespace();
    let answer = match words.next() {
        Some("allow") => Answer::Allow,
        Some("refuse") => Answer::Refuse,
        Some("kill") => Answer::Kill,
        Some("ignore") => Answer::Ignore,
        Some("watch") => Answer::Watch,
        Some("answer") => Answer::Errno(errno(words.next().unwrap_or_default())?),
        other => return Err(format!("`{}` is not a rule", other.unwrap_or_default())),
    };
    let calls = words.map(parse_call).collect::<Result<Vec<_>, _>>()?;
    if calls.is_empty() {
        return Err("a rule needs a system call".to_owned());
    }
    let terms = match condition {
        Some(condition) => condition.split(" and ").map(parse_term).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    if answer == Answer::Allow && terms.is_empty() && otherwise.is_none() {
        return Err("an `allow` without a condition says nothing".to_owned());
    }
    Ok(Rule { line, answer, calls, terms })
}

fn parse_call(word: &str) -> Result<Call, String> {
    let (name, arch) = match word.split_once('@') {
        Some((name, arch)) => (name, Some(arch)),
        None => (word, None),
    };
    let only = match arch {
        Some(wanted) => Some(
            Arch::ALL
                .into_iter()
                .find(|arch| arch.name() == wanted)
                .ok_or_else(|| format!("`{wanted}` is not an architecture"))?,
        ),
        None => None,
    };
    Ok(Call { name: name.to_owned(), only })
}

fn parse_term(text: &str) -> Result<Term, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let &[subject, verb, values] = words.as_slice() else {
        return Err(format!("`{text}` is not a condition"));
    };
    let argument = subject
        .strip_prefix("arg")
        .and_then(|digits| digits.parse::<u8>().ok())
        .filter(|argument| *argument < 6)
        .ok_or_else(|| format!("`{subject}` is not an argument"))?;
    if (verb, values) == ("is", "NULL") {
        return Ok(Term::Null { argument });
    }
    let values = values.split('|').map(constant).collect::<Result<Vec<u32>, String>>()?;
    match verb {
        "is" => Ok(Term::Is { argument, values }),
        "has" => Ok(Term::Has { argument, bits: values.iter().fold(0, |all, bit| all | bit) }),
        other => Err(format!("`{other}` is not a test")),
    }
}

fn errno(name: &str) -> Result<u16, String> {
    find(ERRNOS, name).ok_or_else(|| format!("`{name}` is not a known error"))
}

fn constant(name: &str) -> Result<u32, String> {
    find(CONSTANTS, name).ok_or_else(|| format!("`{name}` is not a known constant"))
}

fn find<Value: Copy>(table: &[(&str, Value)], name: &str) -> Option<Value> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

const ERRNOS: &[(&str, u16)] =
    &[("EPERM", 1), ("ENOMEM", 12), ("ENOSYS", 38), ("EPROTONOSUPPORT", 93), ("EAFNOSUPPORT", 97)];

const CONSTANTS: &[(&str, u32)] = &[
    ("CLONE_NEWTIME", 0x0000_0080),
    ("CLONE_NEWNS", 0x0002_0000),
    ("CLONE_NEWCGROUP", 0x0200_0000),
    ("CLONE_NEWUTS", 0x0400_0000),
    ("CLONE_NEWIPC", 0x0800_0000),
    ("CLONE_NEWUSER", 0x1000_0000),
    ("CLONE_NEWPID", 0x2000_0000),
    ("CLONE_NEWNET", 0x4000_0000),
    ("CLONE_THREAD", 0x0001_0000),
    ("AF_UNIX", 1),
    ("AF_INET", 2),
    ("AF_INET6", 10),
    ("AF_NETLINK", 16),
    ("NETLINK_ROUTE", 0),
    ("PID_SELF", 0),
    ("PID_ONE", 1),
    ("RLIMIT_CORE", 4),
    ("PRIO_USER", 2),
    ("IOPRIO_WHO_USER", 3),
    ("PER_LINUX", 0),
    ("PERSONALITY_QUERY", 0xffff_ffff),
    ("TIOCSTI", 0x5412),
    ("TIOCLINUX", 0x541c),
    ("TIOCSETD", 0x5423),
    ("S_ISUID", 0o4000),
    ("S_ISGID", 0o2000),
    ("PROT_EXEC", 4),
    ("MAP_HUGETLB", 0x0004_0000),
    ("MFD_HUGETLB", 0x0000_0004),
    ("SHM_HUGETLB", 0o4000),
    ("F_GETFD", 1),
    ("F_SETFD", 2),
    ("F_GETFL", 3),
    ("F_SETFL", 4),
    ("F_SETLEASE", 1024),
    ("F_NOTIFY", 1026),
    ("F_SETDELEG", 1040),
    ("F_DUPFD_CLOEXEC", 1030),
    ("F_SETPIPE_SZ", 1031),
    ("F_GETPIPE_SZ", 1032),
    ("FIONREAD", 0x541b),
    ("FIONBIO", 0x5421),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_CREAT", 0o100),
    ("O_TRUNC", 0o1000),
    ("AT_EMPTY_PATH", 0x1000),
    ("NOTIF_RECEIVE", 0xc050_2100),
    ("NOTIF_SEND", 0xc018_2101),
    ("O_TMPFILE_BIT", 0o20_000_000),
];
