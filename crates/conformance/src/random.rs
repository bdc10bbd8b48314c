//! Operations at random: a seed decides them all, so that what goes wrong can be had again.

use vfs::{Allocate, Replace, Seek, SetXattr};

use crate::operation::{Call, Flags, Operation, SLOTS};

impl Operation {
    pub fn random(random: &mut Random) -> Self {
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
        3 if random.is_far_away => (1 << 20) + random.below(100) as u64,
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
            let how = match how[random.below(5)] {
                Replace::Exchange if random.is_far_away => Replace::Yes,
                how => how,
            };
            Call::Rename(path(random), path(random), how)
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
            5 if random.is_far_away => path.extend("ü".bytes()),
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

/// Numbers that a seed decides.
pub struct Random {
    state: u64,
    /// Whether data and holes are looked for in this sequence.
    seeks: bool,
    is_far_away: bool,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { state, seeks: seed.is_multiple_of(2), is_far_away: false }
    }

    /// Without looking for data and holes, which some serve in part only.
    #[must_use]
    pub fn without_seeks(self) -> Self {
        Self { seeks: false, ..self }
    }

    /// Without exchanges of names, names that are no text, and data behind holes of any size, which no store far away has.
    #[must_use]
    pub fn of_far_away(self) -> Self {
        Self { is_far_away: true, ..self.without_seeks() }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}
