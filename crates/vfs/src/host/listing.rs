//! Listing a directory of the host. The kernel hands out many names at once, of which a guest may want few at a time: what
//! is left is listed first when the guest goes on.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, RawDir, SeekFrom};

use super::calls::{kind_of, of_type};
use crate::attributes::Kind;
use crate::engine::Listed;
use crate::error::Result;

/// What was read and not listed yet.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The cookie after which it comes.
    after: u64,
    left: VecDeque<Name>,
}

#[derive(Debug)]
struct Name {
    name: Box<[u8]>,
    number: u64,
    kind: Kind,
    cookie: u64,
}

impl Ahead {
    /// Lists what comes after a place that the kernel has given, until the sink has enough.
    pub(super) fn list(
        &mut self,
        directory: &OwnedFd,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        if after == 0 || after != self.after {
            // From the start everything is read anew.
            (self.after, self.left) = (after, VecDeque::new());
        }
        while let Some(Name { name, number, kind, cookie }) = self.left.front() {
            if !sink(&Listed { name, number: *number, kind: *kind, cookie: *cookie }) {
                return Ok(());
            }
            self.after = *cookie;
            self.left.pop_front();
        }
        rustix::fs::seek(directory, SeekFrom::Start(self.after))?;
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
        while self.left.is_empty() || !entries.is_buffer_empty() {
            let Some(entry) = entries.next() else { break };
            let entry = entry?;
            let (name, number) = (entry.file_name().to_bytes(), entry.ino());
            let mut kind = of_type(entry.file_type());
            if entry.file_type() == FileType::Unknown {
                let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = found.map_or(Kind::File, |found| kind_of(&found));
            }
            let cookie = entry.next_entry_cookie();
            if self.left.is_empty() && sink(&Listed { name, number, kind, cookie }) {
                self.after = cookie;
            } else {
                self.left.push_back(Name { name: name.into(), number, kind, cookie });
            }
        }
        Ok(())
    }
}

const LISTING_BYTES: usize = 32 << 10;
