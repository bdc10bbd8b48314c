//! Why a call of a module failed, as the number that WASI has for it. A number of the kernel that WASI does not know is
//! an error of input and output; none is ever success.

use rustix::io::Errno;

use super::files::Failure;

/// A number of WASI preview 1, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal(u16);

/// What a call returns.
pub(super) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    pub(super) const BADF: Self = Self(8);
    pub(super) const FAULT: Self = Self(21);
    pub(super) const INVAL: Self = Self(28);
    pub(super) const IO: Self = Self(29);
    pub(super) const MFILE: Self = Self(33);
    pub(super) const NOTDIR: Self = Self(54);
    pub(super) const NOTSOCK: Self = Self(57);
    pub(super) const NOTSUP: Self = Self(58);
    pub(super) const OVERFLOW: Self = Self(61);
    pub(super) const SPIPE: Self = Self(70);
    pub(super) const NOTCAPABLE: Self = Self(76);

    /// What a module is given.
    pub(super) const fn number(self) -> u16 {
        self.0
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        let known = NUMBERS.iter().find(|(known, _)| *known == errno);
        known.map_or(Self::IO, |(_, number)| Self(*number))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            // It is one for which the module has no capability.
            Failure::Outside => Self::NOTCAPABLE,
            Failure::Errno(errno) => errno.into(),
        }
    }
}

impl From<vfs::Error> for Refusal {
    fn from(error: vfs::Error) -> Self {
        error.errno.into()
    }
}

const NUMBERS: &[(Errno, u16)] = &[
    (Errno::TOOBIG, 1),
    (Errno::ACCESS, 2),
    (Errno::AGAIN, 6),
    (Errno::BADF, 8),
    (Errno::BUSY, 10),
    (Errno::DEADLK, 16),
    (Errno::DQUOT, 19),
    (Errno::EXIST, 20),
    (Errno::FAULT, 21),
    (Errno::FBIG, 22),
    (Errno::ILSEQ, 25),
    (Errno::INTR, 27),
    (Errno::INVAL, 28),
    (Errno::IO, 29),
    (Errno::ISDIR, 31),
    (Errno::LOOP, 32),
    (Errno::MFILE, 33),
    (Errno::MLINK, 34),
    (Errno::NAMETOOLONG, 37),
    (Errno::NFILE, 41),
    (Errno::NODEV, 43),
    (Errno::NOENT, 44),
    (Errno::NOLCK, 46),
    (Errno::NOMEM, 48),
    (Errno::NOSPC, 51),
    (Errno::NOSYS, 52),
    (Errno::NOTDIR, 54),
    (Errno::NOTEMPTY, 55),
    (Errno::NOTSUP, 58),
    (Errno::NXIO, 60),
    (Errno::OVERFLOW, 61),
    (Errno::PERM, 63),
    (Errno::PIPE, 64),
    (Errno::RANGE, 68),
    (Errno::ROFS, 69),
    (Errno::SPIPE, 70),
    (Errno::STALE, 72),
    (Errno::TIMEDOUT, 73),
    (Errno::TXTBSY, 74),
    (Errno::XDEV, 75),
];
