//! Adds records to a log that other processes write to as well: finds its end under the lock, and
//! writes whole lines behind it. What a dead writer left unfinished is set apart and never continued;
//! what was durable and is gone stops the writer.

mod batch;
mod retention;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::commit::Written;
use crate::directory::{Directory, LOCK_FILE, file_name};
use crate::error::AuditError;
use crate::event::Event;
use crate::hash::hexadecimal;
use crate::head::{HEAD_FILE, Head, HeadFile, Reached, read_at};
use crate::key::Key;
use crate::lines::Part;
use crate::once::{self, Once};
use crate::record::Record;
use crate::removal::Removal;
use crate::seal::{self, After};
use crate::tail::{self, Followed, Last, Tail};
use crate::text::Name;
use batch::Lines;
pub(crate) use batch::{checkpoint_message, recovered_message};

/// Every so many-th record is a signed checkpoint.
pub(crate) const CHECKPOINT_INTERVAL: u64 = 1024;

/// The writing end of a log.
#[derive(Debug)]
pub(crate) struct Writer {
    directory: Directory,
    lock: Arc<OwnedFd>,
    key: Option<Key>,
    /// The end as this process left it; right as long as the file has that size.
    tail: Option<Tail>,
    /// How far this process has stated the log to be durable.
    stated: u64,
    file_limit: u64,
}

impl Writer {
    /// Opens the directory; looks at nothing in it.
    pub(crate) fn open(path: &Path, file_limit: u64) -> Result<Self, AuditError> {
        let directory = Directory::make(path)?;
        let lock = Arc::new(directory.file(LOCK_FILE, OFlags::RDWR | OFlags::CREATE)?);
        Ok(Self { directory, lock, key: None, tail: None, stated: 0, file_limit })
    }

    /// Writes a record, and a checkpoint before it if one is due.
    pub(crate) fn append(&mut self, event: &Event) -> Result<Written, AuditError> {
        let lock = Arc::clone(&self.lock);
        let _locked = self.directory.lock(&lock, EXCLUSIVE)?;
        self.append_locked(event)
    }

    fn append_locked(&mut self, event: &Event) -> Result<Written, AuditError> {
        let mut tail = self.current_tail()?;
        // Kept only if all goes well: after a failure the end is looked for again.
        if tail.size >= self.file_limit {
            tail = self.rotate(tail)?;
        }
        let mut lines = Lines::after(tail.last);
        if lines.next_is_checkpoint() {
            let checkpoint = self.checkpoint_event(&lines)?;
            lines.push(&checkpoint)?;
        }
        lines.push(event)?;
        self.write(&mut tail, &lines)?;
        let written = Written { file: Arc::clone(&tail.file), reached: reached(&tail) };
        self.tail = Some(tail);
        Ok(written)
    }

    /// The end of the log as it is now.
    pub(crate) fn end(&mut self) -> Result<Written, AuditError> {
        let lock = Arc::clone(&self.lock);
        let locked = self.directory.lock(&lock, EXCLUSIVE)?;
        let tail = self.current_tail()?;
        let written = Written { file: Arc::clone(&tail.file), reached: reached(&tail) };
        self.tail = Some(tail);
        drop(locked);
        Ok(written)
    }

    /// Whether records of this name are noted to stand in a file.
    pub(crate) fn is_noted(&self, file: u32, name: &Name) -> Result<bool, AuditError> {
        once::is_noted(&self.directory, file, name)
    }

    /// Notes that they do.
    pub(crate) fn keep(&self, once: &Once) -> Result<(), AuditError> {
        once::keep(&self.directory, once)
    }

    /// The statement that the log is durable so far, to be made when it is; none if this process has
    /// stated more already.
    pub(crate) fn sign_head(&mut self, reached: &Reached) -> Result<Option<Head>, AuditError> {
        if reached.sequence <= self.stated {
            return Ok(None);
        }
        self.load_key()?;
        Ok(self.key.as_ref().map(|key| Head::sign(reached, key)))
    }

    /// States that the log is durable so far, unless more is stated already.
    pub(crate) fn move_head(&mut self, head: &Head) -> Result<(), AuditError> {
        let lock = Arc::clone(&self.lock);
        let _locked = self.directory.lock(&lock, EXCLUSIVE)?;
        self.move_head_locked(head).map(drop)
    }

    fn move_head_locked(&mut self, head: &Head) -> Result<HeadFile, AuditError> {
        let Some(file) = HeadFile::open(&self.directory, OFlags::RDWR)? else {
            return Err(self.head_is_gone());
        };
        let slots = file.read(&self.directory)?;
        if slots.head.as_ref().is_none_or(|stated| stated.sequence() < head.sequence()) {
            file.write(&self.directory, &slots, head)?;
        }
        self.stated = self.stated.max(head.sequence());
        Ok(file)
    }

    /// The end of the log, from memory if nobody else has written since. The lock is held. Whoever
    /// keeps a log open for long is told here what happened to it meanwhile.
    fn current_tail(&mut self) -> Result<Tail, AuditError> {
        self.directory.check_place()?;
        if let Some(tail) = self.tail.take() {
            let status = self.directory.status_of(&file_name(tail.number))?;
            let is_same = status.is_some_and(|status| {
                status.st_ino == tail.inode && u64::try_from(status.st_size) == Ok(tail.size)
            });
            if is_same && !tail.last.is_rotation {
                let head = self.directory.status_of(HEAD_FILE)?;
                return head.map(|_| tail).ok_or_else(|| self.head_is_gone());
            }
        }
        self.find_tail()
    }

    fn head_is_gone(&self) -> AuditError {
        self.directory.damaged("its head is gone".to_owned())
    }

    /// Looks for the end of the log, and makes it one that can be written to.
    fn find_tail(&mut self) -> Result<Tail, AuditError> {
        let head = self.stated()?;
        let numbers = self.numbers()?;
        let number = match (numbers.last(), &head) {
            (Some(number), None) => *number,
            (Some(number), Some(head)) if *number >= head.file => *number,
            (None, None) => {
                let tail = self.new_file(1, Last::NONE)?;
                return self.begin(tail);
            }
            (_, Some(head)) => {
                let (missing, sequence) = (file_name(head.file), head.sequence);
                let problem = format!("`{missing}` with record {sequence} is gone");
                return Err(self.directory.damaged(problem));
            }
        };
        let name = file_name(number);
        let file = self.directory.file(&name, OFlags::RDWR | OFlags::APPEND)?;
        let status = rustix::fs::fstat(&file).map_err(self.directory.failed("fstat", &name))?;
        let size = u64::try_from(status.st_size).unwrap_or(0);
        let last = if tail::is_from_before_boot(status.st_mtime) {
            None
        } else {
            tail::last_record(&file, size).map_err(self.directory.failed("read", &name))?
        };
        let inode = status.st_ino;
        let tail = |last| Tail { file: Arc::new(file), number, inode, size, last };
        match (last, &head) {
            (Some(last), Some(head)) if is_beyond(head, number, size, last) => {
                self.usable(tail(last))
            }
            _ => self.recover(tail(Last::NONE), head.as_ref()),
        }
    }

    /// Follows the chain from what is known to have been durable, and sets what is left apart.
    fn recover(&mut self, mut tail: Tail, head: Option<&Reached>) -> Result<Tail, AuditError> {
        let mut next = Some(self.known_start(&tail, head)?);
        let mut followed = Followed { last: Last::NONE, end: 0 };
        while let Some(from) = next {
            followed = tail::follow_chain(&tail.file, tail.size, from)
                .map_err(self.directory.failed("read", &file_name(tail.number)))?;
            next = self.behind_set_apart(&tail, followed)?;
        }
        tail.last = followed.last;
        if followed.end == 0 {
            // Begun by somebody who died before its first record was whole.
            rustix::fs::ftruncate(&*tail.file, 0)
                .map_err(self.directory.failed("truncate", &file_name(tail.number)))?;
            tail.size = 0;
            return if tail.number == 1 { self.begin(tail) } else { self.go_on(tail) };
        }
        if head.is_none() {
            if tail.last.sequence > 1 {
                return Err(self.head_is_gone());
            }
            self.state_first(&mut tail, followed.end)?;
        }
        if followed.end < tail.size {
            self.set_apart(&mut tail, followed.end)?;
        }
        self.usable(tail)
    }

    /// Where the chain goes on behind what an earlier writer has set apart: one that dies before the head
    /// has moved leaves that to be passed over once more.
    fn behind_set_apart(
        &mut self,
        tail: &Tail,
        followed: Followed,
    ) -> Result<Option<Followed>, AuditError> {
        let Followed { last, end } = followed;
        // A file that nothing whole is in is begun anew.
        if end == 0 || end >= tail.size {
            return Ok(None);
        }
        self.load_key()?;
        let name = file_name(tail.number);
        let file = rustix::io::fcntl_dupfd_cloexec(&*tail.file, 0)
            .map_err(self.directory.failed("dup", &name))?;
        let part = Part { number: tail.number, file, begin: 0, length: tail.size };
        let after = After { sequence: last.sequence, hash: last.hash };
        let sealed =
            seal::seal(&part, end, 0, after).map_err(self.directory.failed("read", &name))?;
        let own_key = self.public_key();
        let sealed =
            sealed.filter(|sealed| sealed.is_signed && sealed.public_key == own_key.as_str());
        Ok(sealed.map(|sealed| {
            let Record { sequence, hash, .. } = sealed.record;
            Followed { last: Last { sequence, hash, is_rotation: false }, end: sealed.end }
        }))
    }

    /// Where the chain is known to be whole: at the head, else at the beginning of the file.
    fn known_start(&mut self, tail: &Tail, head: Option<&Reached>) -> Result<Followed, AuditError> {
        match head {
            Some(head) if head.file == tail.number => {
                Ok(Followed { last: self.stated_record(tail, head)?, end: head.offset })
            }
            _ if tail.number == 1 => Ok(Followed { last: Last::NONE, end: 0 }),
            _ => Ok(Followed { last: self.end_of_file_before(tail.number)?, end: 0 }),
        }
    }

    /// The record that the head states, which must be in the file.
    fn stated_record(&self, tail: &Tail, head: &Reached) -> Result<Last, AuditError> {
        let name = file_name(tail.number);
        let end = head.offset.min(tail.size);
        let stated =
            tail::last_record(&tail.file, end).map_err(self.directory.failed("read", &name))?;
        let is_same = |last: &Last| (last.sequence, last.hash) == (head.sequence, head.hash);
        stated.filter(is_same).ok_or_else(|| {
            let sequence = head.sequence;
            self.directory.damaged(format!("record {sequence} is not in `{name}` as it was"))
        })
    }

    /// The last record of the file before one: it must say that the log goes on.
    fn end_of_file_before(&mut self, number: u32) -> Result<Last, AuditError> {
        if let Some(removal) = self.removed()?.filter(|removal| removal.last_file == number - 1) {
            let Removal { last_sequence: sequence, last_hash: hash, .. } = removal;
            return Ok(Last { sequence, hash, is_rotation: false });
        }
        let name = file_name(number - 1);
        let file = self.directory.file(&name, OFlags::RDONLY)?;
        let status = rustix::fs::fstat(&file).map_err(self.directory.failed("fstat", &name))?;
        let size = u64::try_from(status.st_size).unwrap_or(0);
        let last = tail::last_record(&file, size).map_err(self.directory.failed("read", &name))?;
        match last.filter(|last| last.is_rotation) {
            Some(last) => Ok(Last { is_rotation: false, ..last }),
            None => Err(self.directory.damaged(format!("the end of `{name}` is not as it was"))),
        }
    }

    /// A file that says that the log goes on in another one is not written to any more.
    fn usable(&mut self, tail: Tail) -> Result<Tail, AuditError> {
        if !tail.last.is_rotation {
            return Ok(tail);
        }
        self.directory.sync()?;
        let next = self.new_file(tail.number + 1, tail.last)?;
        self.go_on(next)
    }

    /// Ends a file and begins the next one.
    fn rotate(&mut self, mut tail: Tail) -> Result<Tail, AuditError> {
        let mut lines = Lines::after(tail.last);
        let (public_key, signature) = self.signed(&lines.next_message())?;
        let next = Name::from(file_name(tail.number + 1));
        lines.push(&Event::LogRotated { next, public_key, signature })?;
        self.write(&mut tail, &lines)?;
        rustix::fs::fdatasync(&*tail.file)
            .map_err(self.directory.failed("fdatasync", &file_name(tail.number)))?;
        let next = self.new_file(tail.number + 1, tail.last)?;
        self.go_on(next)
    }

    fn new_file(&self, number: u32, last: Last) -> Result<Tail, AuditError> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        let name = file_name(number);
        let file = self.directory.file(&name, flags)?;
        let status = rustix::fs::fstat(&file).map_err(self.directory.failed("fstat", &name))?;
        let last = Last { is_rotation: false, ..last };
        Ok(Tail { file: Arc::new(file), number, inode: status.st_ino, size: 0, last })
    }

    /// Writes the first record of a file that is not the first.
    fn go_on(&mut self, mut tail: Tail) -> Result<Tail, AuditError> {
        self.load_key()?;
        let public_key = self.public_key();
        let after = Name::from(file_name(tail.number - 1));
        let mut lines = Lines::after(tail.last);
        if lines.next_is_checkpoint() {
            let checkpoint = self.checkpoint_event(&lines)?;
            lines.push(&checkpoint)?;
        }
        lines.push(&Event::LogContinued { after, public_key })?;
        self.write(&mut tail, &lines)?;
        self.directory.sync()?;
        Ok(tail)
    }

    /// Writes the first record of a log.
    fn begin(&mut self, mut tail: Tail) -> Result<Tail, AuditError> {
        self.key = Some(Key::load_or_make(&self.directory)?);
        let mut lines = Lines::after(tail.last);
        lines.push(&Event::LogBegun { public_key: self.public_key() })?;
        self.write(&mut tail, &lines)?;
        let end = tail.size;
        self.state_first(&mut tail, end)?;
        Ok(tail)
    }

    /// Makes the head of a log that has one record.
    fn state_first(&mut self, tail: &mut Tail, end: u64) -> Result<(), AuditError> {
        self.load_key()?;
        rustix::fs::fsync(&*tail.file)
            .map_err(self.directory.failed("fsync", &file_name(tail.number)))?;
        let Some(key) = &self.key else { return Ok(()) };
        let reached = Reached { offset: end, ..reached(tail) };
        HeadFile::make(&self.directory, &Head::sign(&reached, key))
    }

    /// Ends what a dead writer left with a line end, and says in the next record what it is.
    fn set_apart(&mut self, tail: &mut Tail, offset: u64) -> Result<(), AuditError> {
        let name = file_name(tail.number);
        let failed = |call| self.directory.failed(call, &name);
        let (mut hash, mut last_byte) = (Sha256::new(), b'\n');
        let (mut position, mut buffer) = (offset, vec![0_u8; 64 * 1024]);
        loop {
            let count = read_at(&tail.file, &mut buffer, position).map_err(failed("read"))?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            hash.update(bytes);
            last_byte = bytes.last().copied().unwrap_or(last_byte);
            position += count as u64;
        }
        tail.size = position;
        let mut lines = Lines::after(tail.last);
        if last_byte != b'\n' {
            hash.update(b"\n");
            lines.bytes.push(b'\n');
            position += 1;
        }
        let (bytes, sha256) = (position - offset, hexadecimal(&hash.finalize()));
        let (sequence, previous) = (lines.last.sequence + 1, lines.last.hash);
        let message = recovered_message(sequence, previous, offset, bytes, &sha256);
        let (public_key, signature) = self.signed(&message)?;
        let sha256 = Name::from(sha256);
        lines.push(&Event::LogRecovered { offset, bytes, sha256, public_key, signature })?;
        self.write(tail, &lines)
    }

    /// Writes whole lines. If not all of them fit, none stays; if even that fails, what is there is
    /// set apart by whoever writes next.
    fn write(&self, tail: &mut Tail, lines: &Lines) -> Result<(), AuditError> {
        let mut rest = lines.bytes.as_slice();
        while !rest.is_empty() {
            let problem = match rustix::io::write(&*tail.file, rest) {
                Ok(0) => Errno::NOSPC,
                Ok(count) => {
                    rest = rest.get(count..).unwrap_or_default();
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(errno) => errno,
            };
            let _ = rustix::fs::ftruncate(&*tail.file, tail.size);
            return Err(self.directory.failed("write", &file_name(tail.number))(problem));
        }
        tail.size += lines.bytes.len() as u64;
        tail.last = lines.last;
        Ok(())
    }

    /// What the head states; none for a log that has none. One that somebody else has written would
    /// be followed by records that make it look genuine.
    fn stated(&mut self) -> Result<Option<Reached>, AuditError> {
        let Some(file) = HeadFile::open(&self.directory, OFlags::RDONLY)? else {
            return Ok(None);
        };
        let head = file.read(&self.directory)?.head;
        let Some((head, reached)) = head.and_then(|head| head.reached().map(|at| (head, at)))
        else {
            return Err(self.directory.damaged("its head cannot be read".to_owned()));
        };
        self.load_key()?;
        match &self.key {
            Some(key) if head.is_signed_with(key) => Ok(Some(reached)),
            _ => Err(self.directory.damaged("its head is not signed with its key".to_owned())),
        }
    }

    fn checkpoint_event(&mut self, lines: &Lines) -> Result<Event, AuditError> {
        let (public_key, signature) = self.signed(&lines.next_message())?;
        Ok(Event::LogCheckpoint { public_key, signature })
    }

    /// The key, and its signature of a message.
    fn signed(&mut self, message: &str) -> Result<(Name, Name), AuditError> {
        self.load_key()?;
        let signature = self.key.as_ref().map(|key| key.sign(message)).unwrap_or_default();
        Ok((self.public_key(), Name::from(signature)))
    }

    fn public_key(&self) -> Name {
        Name::from(self.key.as_ref().map(Key::public).unwrap_or_default())
    }

    fn load_key(&mut self) -> Result<(), AuditError> {
        if self.key.is_none() {
            self.key = Some(Key::load(&self.directory)?);
        }
        Ok(())
    }
}

/// Whether the last record of a file may be at or behind what the head states.
fn is_beyond(head: &Reached, number: u32, size: u64, last: Last) -> bool {
    if head.file < number {
        return head.sequence < last.sequence;
    }
    let same = head.sequence == last.sequence && head.hash == last.hash && head.offset == size;
    same || (head.sequence < last.sequence && head.offset < size)
}

fn reached(tail: &Tail) -> Reached {
    let Tail { number, size, last, .. } = tail;
    Reached { sequence: last.sequence, hash: last.hash, file: *number, offset: *size }
}

const EXCLUSIVE: FlockOperation = FlockOperation::NonBlockingLockExclusive;
