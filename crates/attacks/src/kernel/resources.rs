//! Memory without a bound: what a cage writes to `/tmp` is the host's memory. And memory that leaves the
//! cage: a crashed program's, in the hands of a helper on the host. T29, T30, T66, T72

use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Resource;
use sys::raw::{self, LimitCall};

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T29", "fill-tmp", "fills `/tmp`", |scene| fill(scene, Path::new("/tmp"))),
    Attack::new("T29", "fill-home", "fills the home", |scene| fill(scene, &scene.home.clone())),
    Attack::new("T29", "fill-shared-memory", "fills `/dev/shm`", |scene| {
        fill(scene, Path::new("/dev/shm"))
    }),
    Attack::new("T66", "more-files-than-allowed", "makes files in `/tmp` without end", |_| {
        let space = rustix::fs::statvfs("/tmp")?;
        match space.f_files {
            1..=MOST_FILES => Ok(Outcome::Failed(format!("room for {} files", space.f_files))),
            0 => Ok(Outcome::Succeeded("no bound on files".to_owned())),
            files => Ok(Outcome::Succeeded(format!("room for {files} files"))),
        }
    }),
    Attack::new("T30", "huge-pages", "takes memory that no limit counts", |_| {
        let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::HUGETLB;
        match rustix::fs::memfd_create("huge", flags) {
            Ok(_) => Ok(Outcome::Succeeded("a file of huge pages".to_owned())),
            Err(Errno::NOSYS | Errno::INVAL) => {
                Ok(Outcome::NotApplicable("this kernel has no huge pages".to_owned()))
            }
            Err(errno) => Err(errno.into()),
        }
    }),
    Attack::new("T72", "undo-core-guard", "allows the host's helper its memory again", |_| {
        undo_core_guard(LimitCall::Setrlimit)
    }),
    Attack::new(
        "T72",
        "undo-core-guard-prlimit",
        "the same by `prlimit64`, upper bits set",
        |_| undo_core_guard(LimitCall::Prlimit),
    ),
    Attack::new(
        "T72",
        "undo-core-guard-far-away",
        "the same with a limit at an address whose lower half is 0",
        |_| undo_core_guard(LimitCall::PrlimitFarAway),
    ),
];

/// Where the file system says that it has a bound, one byte more than that is asked for, which is
/// refused before anything is written. Where it has none, nothing is asked for.
fn fill(scene: &Scene<'_>, directory: &Path) -> Result<Outcome, Refused> {
    let space = rustix::fs::statvfs(directory)?;
    let bound = space.f_blocks.saturating_mul(space.f_frsize);
    if bound == 0 || bound > MOST_BYTES {
        return Ok(Outcome::Succeeded(format!("room for {} MiB", bound >> 20)));
    }
    let path = directory.join(scene.mark());
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
    let result = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bound + 1);
    std::fs::remove_file(&path)?;
    result?;
    Ok(Outcome::Succeeded("more than the bound".to_owned()))
}

/// The guard is a limit of 1 byte: at any other the kernel hands a crashed program's memory to a helper, if
/// the host has one. No helper is needed to see whether the guard stands. Where nothing guards the attack,
/// it does so itself, to have something to undo.
fn undo_core_guard(call: LimitCall) -> Result<Outcome, Refused> {
    if rustix::process::getrlimit(Resource::Core).maximum == Some(0) {
        let why = "the caller's hard limit on core dumps is 0, so that no cage can set 1";
        return Ok(Outcome::NotApplicable(why.to_owned()));
    }
    raw::set_core_limit(call, GUARD)?;
    raw::set_core_limit(call, 0)?;
    match rustix::process::getrlimit(Resource::Core).current {
        Some(GUARD) => Ok(Outcome::Failed("the limit is 1 byte as before".to_owned())),
        Some(limit) => Ok(Outcome::Succeeded(format!("the limit is {limit} bytes"))),
        None => Ok(Outcome::Succeeded("there is no limit".to_owned())),
    }
}

const GUARD: u64 = 1;
const MOST_BYTES: u64 = 4 << 30;
const MOST_FILES: u64 = 4_000_000;
