//! Operations, how they are made at random, and what can come of one.

use vfs::{Allocate, Kind, Replace, Seek, SetXattr};

/// One operation of one user.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// 0 is root, 1 to 3 are users.
    pub(crate) who: usize,
    pub(crate) call: Call,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    MakeDirectory(Vec<u8>, u32),
    MakeFifo(Vec<u8>, u32),
    Open { slot: usize, path: Vec<u8>, flags: Flags, mode: u32 },
    Close(usize),
    Read { slot: usize, offset: u64, count: usize },
    ReadOn { slot: usize, count: usize },
    Write { slot: usize, offset: u64, bytes: Vec<u8> },
    WriteOn { slot: usize, bytes: Vec<u8> },
    SetSize(Vec<u8>, u64),
    SetSizeOpen(usize, u64),
    Allocate { slot: usize, how: Allocate, offset: u64, length: u64 },
    Seek { slot: usize, what: Seek, offset: u64 },
    StatOpen(usize),
    Stat(Vec<u8>, bool),
    Unlink(Vec<u8>),
    RemoveDirectory(Vec<u8>),
    Rename(Vec<u8>, Vec<u8>, Replace),
    Link(Vec<u8>, Vec<u8>),
    Symlink(Vec<u8>, Vec<u8>),
    ReadLink(Vec<u8>),
    SetMode(Vec<u8>, u32),
    SetModeOpen(usize, u32),
    SetOwner(Vec<u8>, Option<u32>, Option<u32>, bool),
    SetTimes(Vec<u8>, Option<i64>, Option<i64>, bool),
    TouchNow(Vec<u8>),
    List(Vec<u8>),
    SetXattr(Vec<u8>, Vec<u8>, Vec<u8>, SetXattr),
    Xattr(Vec<u8>, Vec<u8>),
    Xattrs(Vec<u8>),
    RemoveXattr(Vec<u8>, Vec<u8>),
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) append: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) directory: bool,
    pub(crate) no_follow: bool,
}

/// What came of an operation: an answer, or the number of an error.
pub(crate) type Outcome = Result<Answer, i32>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    Bytes(Vec<u8>),
    Number(u64),
    Names(Vec<Vec<u8>>),
    Stat(Stat),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    pub(crate) links: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Not of directories.
    pub(crate) size: u64,
    /// Of files.
    pub(crate) blocks: u64,
    /// Where a test has set it. When it was read is not noted by ours.
    pub(crate) modified: Option<i64>,
}

impl Stat {
    /// A time that a test has set; others depend on when it ran.
    pub(crate) fn known(seconds: i64) -> Option<i64> {
        (seconds < 1_000_000_000).then_some(seconds)
    }
}

/// Something that operations are done to.
pub(crate) trait System {
    fn run(&mut self, operation: &Operation) -> Outcome;
}

/// Everything that is there, as root sees it.
pub(crate) fn everything(system: &mut dyn System) -> Vec<(Vec<u8>, &'static str, Outcome)> {
    let mut found = Vec::new();
    let mut left = vec![b"/".to_vec()];
    while let Some(path) = left.pop() {
        let mut ask = |what: &'static str, call: Call| {
            let outcome = system.run(&Operation { who: 0, call });
            found.push((path.clone(), what, outcome.clone()));
            outcome
        };
        let Ok(Answer::Stat(stat)) = ask("stat", Call::Stat(path.clone(), false)) else { continue };
        match stat.kind {
            Kind::Directory => {
                let _xattrs = ask("xattrs", Call::Xattrs(path.clone()));
                if let Ok(Answer::Names(names)) = ask("list", Call::List(path.clone())) {
                    let others = |name: &Vec<u8>| !matches!(&name[..], b"." | b".." | b"proc");
                    for name in names.into_iter().filter(others) {
                        left.push(
                            [&path[..], if path == b"/" { b"" } else { b"/" }, &name].concat(),
                        );
                    }
                }
            }
            Kind::File => {
                let _xattrs = ask("xattrs", Call::Xattrs(path.clone()));
                let flags = Flags { read: true, ..Flags::default() };
                let _opened =
                    ask("open", Call::Open { slot: 0, path: path.clone(), flags, mode: 0 });
                for offset in [0, 1 << 12, 1 << 16, 1 << 20] {
                    let _read = ask("read", Call::Read { slot: 0, offset, count: 1 << 14 });
                }
            }
            Kind::Link => drop(ask("link", Call::ReadLink(path.clone()))),
            _ => {}
        }
    }
    found
}

impl Operation {
    pub(crate) fn random(random: &mut Random) -> Self {
        let who = if random.one_in(2) { 0 } else { random.below(4) };
        Self { who, call: call(random) }
    }
}

fn call(random: &mut Random) -> Call {
    let slot = random.below(SLOTS);
    let offset = |random: &mut Random| match random.below(8) {
        0 => 0,
        1 => random.below(1 << 20) as u64,
        2 => 4096 * random.below(20) as u64,
        3 => (1 << 40) + random.below(100) as u64,
        _ => random.below(20_000) as u64,
    };
    let bytes = |random: &mut Random| {
        let length = if random.one_in(4) { random.below(20_000) } else { random.below(50) };
        vec![u8::try_from(1 + random.below(250)).unwrap(); length]
    };
    match random.below(66) {
        0..=4 => Call::MakeDirectory(path(random), mode(random)),
        5 => Call::MakeFifo(path(random), mode(random)),
        6..=15 => {
            let mut flags = Flags {
                append: random.one_in(6),
                create: random.one_in(2),
                exclusive: random.one_in(6),
                truncate: random.one_in(6),
                directory: random.one_in(10),
                no_follow: random.one_in(8),
                ..Flags::default()
            };
            (flags.read, flags.write) =
                [(true, false), (false, true), (true, true)][random.below(3)];
            // The kernel opens for nothing where exclusive is meant for nothing.
            flags.exclusive &= flags.create;
            Call::Open { slot, path: path(random), flags, mode: mode(random) }
        }
        16 => Call::Close(slot),
        17..=19 => Call::Read { slot, offset: offset(random), count: random.below(30_000) },
        20 => Call::ReadOn { slot, count: random.below(30_000) },
        21..=25 => Call::Write { slot, offset: offset(random), bytes: bytes(random) },
        26..=27 => Call::WriteOn { slot, bytes: bytes(random) },
        28 => Call::SetSize(path(random), offset(random)),
        29 => Call::SetSizeOpen(slot, offset(random)),
        30 => {
            let how =
                [Allocate::Extend, Allocate::KeepSize, Allocate::PunchHole, Allocate::PunchHole];
            // Whether what is only reserved counts as data is each kernel's own matter.
            let how = if random.seeks { Allocate::PunchHole } else { how[random.below(4)] };
            // No more than a small memory file system holds.
            let offset = random.below(1 << 18) as u64;
            Call::Allocate { slot, how, offset, length: random.below(1 << 16) as u64 }
        }
        31..=32 if random.seeks => {
            let what = if random.one_in(2) { Seek::Data } else { Seek::Hole };
            Call::Seek { slot, what, offset: offset(random) }
        }
        31..=33 => Call::StatOpen(slot),
        34..=36 => Call::Stat(path(random), random.one_in(2)),
        37..=39 => Call::Unlink(path(random)),
        40..=41 => Call::RemoveDirectory(path(random)),
        42..=47 => {
            let how = [Replace::Yes, Replace::Yes, Replace::Yes, Replace::No, Replace::Exchange];
            Call::Rename(path(random), path(random), how[random.below(5)])
        }
        48..=50 => Call::Link(path(random), path(random)),
        51..=53 => {
            let target = match random.below(10) {
                0 => Vec::new(),
                1 => vec![b'x'; 4095 + random.below(2)],
                _ => path(random),
            };
            Call::Symlink(target, path(random))
        }
        54 => Call::ReadLink(path(random)),
        55 => Call::SetMode(path(random), mode(random)),
        56 => Call::SetModeOpen(slot, mode(random)),
        57 => {
            let id = |random: &mut Random| {
                (!random.one_in(3)).then(|| u32::try_from(1000 + random.below(3)).unwrap())
            };
            Call::SetOwner(path(random), id(random), id(random), random.one_in(2))
        }
        58 => {
            let time = |random: &mut Random| {
                (!random.one_in(3)).then(|| i64::try_from(random.below(1000)).unwrap() - 500)
            };
            Call::SetTimes(path(random), time(random), time(random), random.one_in(2))
        }
        59 => Call::TouchNow(path(random)),
        60..=61 => Call::List(path(random)),
        62 => {
            let how = [SetXattr::Any, SetXattr::Create, SetXattr::Replace][random.below(3)];
            Call::SetXattr(path(random), xattr(random), vec![7; random.below(40)], how)
        }
        63 => Call::Xattr(path(random), xattr(random)),
        64 => Call::Xattrs(path(random)),
        _ => Call::RemoveXattr(path(random), xattr(random)),
    }
}

/// A path of few names, so that operations meet.
fn path(random: &mut Random) -> Vec<u8> {
    let mut path = Vec::new();
    if random.one_in(4) {
        path.push(b'/');
    }
    if random.one_in(300) {
        return vec![b'/'; 1 + random.below(3)];
    }
    let depth = 1 + random.below(4);
    for at in 0..depth {
        match random.below(40) {
            0 => path.push(b'.'),
            1..=3 => path.extend(b".."),
            4 => path.extend(vec![b'l'; 254 + random.below(3)]),
            5 => path.extend(b"\xff\xfe"),
            _ => path.push(b"abcdef"[random.below(6)]),
        }
        if at + 1 < depth || random.one_in(12) {
            path.push(b'/');
        }
        if random.one_in(30) {
            path.push(b'/');
        }
    }
    path
}

fn mode(random: &mut Random) -> u32 {
    let plain =
        [0o755, 0o777, 0o644, 0o666, 0o700, 0o600, 0o750, 0o770, 0o000, 0o444, 0o711, 0o1777];
    let special = [0, 0, 0, 0o4000, 0o2000, 0o6000];
    plain[random.below(plain.len())] | special[random.below(special.len())]
}

fn xattr(random: &mut Random) -> Vec<u8> {
    let names = ["user.a", "user.b", "trusted.a", "user.", "other.a", ""];
    let name = if random.one_in(2) { random.below(2) } else { random.below(names.len()) };
    names[name].as_bytes().to_vec()
}

/// How many files are open at most.
pub(crate) const SLOTS: usize = 6;

/// Numbers that a seed decides.
pub(crate) struct Random {
    state: u64,
    /// Whether data and holes are looked for in this sequence.
    seeks: bool,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, seeks: seed.is_multiple_of(2) }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}
