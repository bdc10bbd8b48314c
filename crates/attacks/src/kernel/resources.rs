//! Memory without a bound: what a cage writes to `/tmp` is the host's memory. T29, T30, T66

use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

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

const MOST_BYTES: u64 = 4 << 30;
const MOST_FILES: u64 = 4_000_000;
