//! The first words between kernel and server: what both can do, and how much they say at once.

use rustix::io::Errno;

use super::reply::Reply;
use super::wire::{MAJOR, MINOR, OLDEST_MINOR, Request, ability, operation};
use super::{Fuse, MOST_BYTES, REQUEST_BYTES};

impl Fuse {
    /// Answers the first request, which says how the kernel speaks.
    pub(super) fn agree(&self) -> std::io::Result<()> {
        let mut bytes = vec![0; REQUEST_BYTES];
        loop {
            let count = match rustix::io::read(&self.device, &mut bytes[..]) {
                Err(Errno::INTR | Errno::AGAIN | Errno::NOENT) => continue,
                count => count?,
            };
            let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidData);
            let request = Request::read(bytes.get(..count).unwrap_or_default());
            let mut request = request.ok_or_else(invalid)?;
            if request.operation != operation::BEGIN {
                return Err(invalid());
            }
            let (major, minor) = (request.body.u32()?, request.body.u32()?);
            let mut reply = Reply::new();
            if major > MAJOR {
                // The kernel asks again, in our version.
                reply.u32(MAJOR).u32(MINOR).bytes(&[0; 56]);
                self.send(reply.done(request.unique, 0), &[])?;
                continue;
            }
            if major < MAJOR || minor < OLDEST_MINOR {
                self.send(reply.error(request.unique, Errno::PROTO), &[])?;
                return Err(Errno::PROTO.into());
            }
            let read_ahead = request.body.u32()?;
            let low = u64::from(request.body.u32()?);
            let high = if low & ability::MORE_ABILITIES == 0 { 0 } else { request.body.u32()? };
            let abilities = (low | u64::from(high) << 32) & self.wanted();
            let [low, high] = [abilities, abilities >> 32].map(|bits| (bits & 0xffff_ffff) as u32);
            let most = u32::try_from(MOST_BYTES).unwrap_or(u32::MAX);
            reply.u32(MAJOR).u32(MINOR).u32(read_ahead).u32(low);
            reply.u16(MOST_WAITING).u16(MOST_WAITING / 4 * 3).u32(most);
            reply.u32(ONE_NANOSECOND).u16(u16::try_from(MOST_BYTES / PAGE).unwrap_or(u16::MAX));
            reply.u16(0).u32(high).bytes(&[0; 28]);
            self.send(reply.done(request.unique, 0), &[])?;
            return Ok(());
        }
    }

    /// What this can do of what a kernel may offer.
    fn wanted(&self) -> u64 {
        let always = ability::ASYNC_READ
            | ability::BIG_WRITES
            | ability::LIST_AND_LOOKUP
            | ability::LIST_AND_LOOKUP_AUTO
            | ability::ASYNC_DIRECT
            | ability::PARALLEL_DIRECTORIES
            | ability::MOST_PAGES
            | ability::WE_DROP_PRIVILEGES
            | ability::MORE_ABILITIES
            | ability::NAMES_GROUP;
        if !self.is_alone() {
            let locks = self.engine.abilities().locks;
            let locks = if locks { ability::POSIX_LOCKS | ability::FLOCK_LOCKS } else { 0 };
            return always | ability::AUTO_INVALIDATE_DATA | locks;
        }
        let gathers = if self.settings.gather_writes { ability::WRITE_BACK } else { 0 };
        always | ability::CACHE_LINKS | gathers
    }
}

/// How many requests of the kernel's own, such as reading ahead, may wait.
const MOST_WAITING: u16 = 64;
const ONE_NANOSECOND: u32 = 1;
const PAGE: usize = 4096;
