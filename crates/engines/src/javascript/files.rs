//! The operations on files that `fs` stands on. Paths and numbers are the program's word; each goes through the walk and the
//! rules of its file system.

use std::rc::Rc;

use rquickjs::Object;
use rquickjs::function::Func;
use rustix::io::Errno;
use vfs::{
    At, Attributes, Existing, Follow, Kind, New, NewTime, OpenFlags, Owner, Removal, Replace,
    Times, Timestamp, Wish,
};

use super::answer::{Answer, Outcome, Told, bytes_of, number};
use super::host::{Host, Opened};
use crate::streams::Stream;

/// Adds an operation: its name, what it is given, and what it does.
macro_rules! operations {
    ($native:ident, $host:ident: $($name:literal($($argument:ident: $kind:ty),*) $body:expr;)*) => {$(
        let host = Rc::clone($host);
        $native.set($name, Func::from(move |$($argument: $kind),*| {
            let act = |$host: &Host| -> Outcome {
                let _asked = $host;
                $body
            };
            // Long calls do not count as steps of the engine, which looks at the time after many of those alone.
            Told(if host.allowance.get().is_spent() { Err(rustix::io::Errno::TIME.into()) } else { act(&host) })
        }))?;
    )*};
}

pub(super) use operations;

pub(super) fn add_to(native: &Object<'_>, host: &Rc<Host>) -> rquickjs::Result<()> {
    operations! { native, host:
        "open"(path: String, flags: u32, mode: u32) {
            let place = host.place(&path);
            let file = host.files.open(&host.caller, place.at(), &place.path, how(flags), mode)?;
            Ok(Answer::Number(host.add(file)?.into()))
        };
        "close"(fd: i32) host.close(fd).map(|()| Answer::Nothing);
        "read"(fd: i32, length: u32, position: f64) read(host, fd, length, position);
        "write"(fd: i32, text: String, is_binary: bool, position: f64) {
            write(host, fd, &bytes_of(&text, is_binary)?, position)
        };
        "readFile"(path: String) Ok(Answer::Bytes(read_file(host, &path)?));
        "readText"(path: String) {
            let bytes = read_file(host, &path)?;
            Ok(Answer::Text(String::from_utf8(bytes).unwrap_or_else(|error| {
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            })))
        };
        "stat"(path: String, follow: bool) {
            let follow = if follow { Follow::Yes } else { Follow::No };
            let place = host.place(&path);
            Ok(stat(&host.files.stat(&host.caller, place.at(), &place.path, follow)?))
        };
        "fstat"(fd: i32) match host.find(fd)? {
            Opened::File(file) => Ok(stat(&file.attributes(&host.caller)?)),
            Opened::Stream(_) => Ok(Answer::List(Vec::new())),
        };
        "list"(path: String) list(host, &path);
        "mkdir"(path: String, mode: u32) {
            let place = host.place(&path);
            host.files.make(&host.caller, place.at(), &place.path, New::Directory, mode)?;
            Ok(Answer::Nothing)
        };
        "remove"(path: String, is_directory: bool) {
            let what = if is_directory { Removal::Directory } else { Removal::File };
            let place = host.place(&path);
            host.files.remove(&host.caller, place.at(), &place.path, what)?;
            Ok(Answer::Nothing)
        };
        "removeTree"(path: String) {
            host.files.remove_tree(&host.caller, &host.path(&path)).map(|()| Answer::Nothing)
        };
        "rename"(from: String, to: String) {
            let (from, to) = (host.place(&from), host.place(&to));
            let ends = ((from.at(), &*from.path), (to.at(), &*to.path));
            host.files.rename(&host.caller, ends.0, ends.1, Replace::Yes)?;
            Ok(Answer::Nothing)
        };
        "link"(from: String, to: String) {
            let (from, to) = (host.path(&from), host.path(&to));
            let existing = Existing::Path(&from, Follow::No);
            host.files.link(&host.caller, existing, At::Root, &to).map(|()| Answer::Nothing)
        };
        "symlink"(target: String, path: String) {
            let new = New::Link(target.as_bytes());
            let place = host.place(&path);
            host.files.make(&host.caller, place.at(), &place.path, new, 0o777)?;
            Ok(Answer::Nothing)
        };
        "readlink"(path: String) {
            let place = host.place(&path);
            let target = host.files.read_link(&host.caller, place.at(), &place.path)?;
            Ok(Answer::Text(String::from_utf8_lossy(&target).into_owned()))
        };
        "chmod"(path: String, mode: u32) {
            let place = host.place(&path);
            host.files.set_mode(&host.caller, place.at(), &place.path, mode)?;
            Ok(Answer::Nothing)
        };
        "fchmod"(fd: i32, mode: u32) {
            host.files.set_mode_of(&host.caller, &*host.file(fd)?, mode).map(|()| Answer::Nothing)
        };
        "chown"(path: String, uid: u32, gid: u32, follow: bool) {
            let follow = if follow { Follow::Yes } else { Follow::No };
            let owner = Owner { uid: Some(uid), gid: Some(gid) };
            let place = host.place(&path);
            host.files.set_owner(&host.caller, place.at(), &place.path, follow, owner)?;
            Ok(Answer::Nothing)
        };
        "utimes"(path: String, accessed: f64, modified: f64, follow: bool) {
            let follow = if follow { Follow::Yes } else { Follow::No };
            let times = times(accessed, modified);
            let place = host.place(&path);
            host.files.set_times(&host.caller, place.at(), &place.path, follow, times)?;
            Ok(Answer::Nothing)
        };
        "futimes"(fd: i32, accessed: f64, modified: f64) {
            let file = host.file(fd)?;
            host.files.set_times_of(&host.caller, &file, times(accessed, modified))?;
            Ok(Answer::Nothing)
        };
        "truncate"(path: String, size: f64) {
            let size = whole(size)?;
            let place = host.place(&path);
            host.files.set_size(&host.caller, place.at(), &place.path, size)?;
            Ok(Answer::Nothing)
        };
        "ftruncate"(fd: i32, size: f64) {
            host.file(fd)?.set_size(&host.caller, whole(size)?).map(|()| Answer::Nothing)
        };
        "access"(path: String, mode: u32) {
            let wish = [(4, Wish::READ), (2, Wish::WRITE), (1, Wish::EXECUTE)];
            let wish = wish.iter().filter(|(bit, _)| mode & bit != 0);
            let wish = wish.fold(Wish::NOTHING, |all, (_, one)| all.and(*one));
            let place = host.place(&path);
            host.files.access(&host.caller, place.at(), &place.path, wish)?;
            Ok(Answer::Nothing)
        };
        "sync"(fd: i32) host.file(fd)?.sync().map(|()| Answer::Nothing);
        "space"(path: String) {
            let place = host.place(&path);
            let space = host.files.space(&host.caller, place.at(), &place.path)?;
            let fields = [space.block_bytes, space.blocks, space.free_blocks, space.inodes, space.free_inodes];
            Ok(Answer::List(fields.map(number).into()))
        };
    }
    Ok(())
}

/// `O_*` of Linux, as `fs.constants` has them.
const fn how(flags: u32) -> OpenFlags {
    OpenFlags {
        read: flags & 3 != 1,
        write: flags & 3 != 0,
        append: flags & 0o2000 != 0,
        create: flags & 0o100 != 0,
        exclusive: flags & 0o200 != 0,
        truncate: flags & 0o1000 != 0,
        directory: flags & 0o200_000 != 0,
        no_follow: flags & 0o400_000 != 0,
        path: false,
    }
}

/// Reads at a position, or at the file's own if that is negative.
fn read(host: &Host, fd: i32, length: u32, position: f64) -> Outcome {
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(MOST_AT_ONCE);
    let mut into = vec![0; length];
    let count = match host.find(fd)? {
        Opened::Stream(Stream::Input) => host.world.borrow_mut().streams.read(&mut into)?,
        Opened::Stream(_) => return Err(Errno::BADF.into()),
        Opened::File(file) if position < 0.0 => file.read(&mut into)?,
        Opened::File(file) => file.read_at(whole(position)?, &mut into)?,
    };
    into.truncate(count);
    Ok(Answer::Bytes(into))
}

fn write(host: &Host, fd: i32, bytes: &[u8], position: f64) -> Outcome {
    let count = match host.find(fd)? {
        Opened::Stream(stream) => {
            host.world.borrow_mut().streams.write_all(stream, bytes)?;
            bytes.len()
        }
        Opened::File(file) if position < 0.0 => file.write(&host.caller, bytes)?,
        Opened::File(file) => file.write_at(&host.caller, whole(position)?, bytes)?,
    };
    Ok(number(count as u64))
}

fn read_file(host: &Host, path: &str) -> Result<Vec<u8>, vfs::Error> {
    let most = host.world.borrow().limits.max_memory;
    let place = host.place(path);
    let file = host.files.open(&host.caller, place.at(), &place.path, OpenFlags::READ, 0)?;
    file.contents(&host.caller, most)
}

fn list(host: &Host, path: &str) -> Outcome {
    let place = host.place(path);
    let flags = OpenFlags { directory: true, ..OpenFlags::READ };
    let directory = host.files.open(&host.caller, place.at(), &place.path, flags, 0)?;
    let mut names = directory.names()?;
    // As Node.js has them.
    names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut all: Vec<Answer> = Vec::with_capacity(names.len() * 2);
    for one in names {
        all.push(Answer::Text(String::from_utf8_lossy(&one.name).into_owned()));
        all.push(Answer::Number((bits(one.kind) >> 12).into()));
    }
    Ok(Answer::List(all))
}

fn stat(file: &Attributes) -> Answer {
    let [accessed, modified, changed] = [file.accessed, file.modified, file.changed].map(parts);
    Answer::List(vec![
        number(file.number),
        Answer::Number((bits(file.kind) | file.mode).into()),
        Answer::Number(file.links.into()),
        Answer::Number(file.uid.into()),
        Answer::Number(file.gid.into()),
        number(file.size),
        number(file.blocks),
        accessed.0,
        accessed.1,
        modified.0,
        modified.1,
        changed.0,
        changed.1,
    ])
}

/// Seconds, exact for as long as files are kept, and nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "2⁵³ seconds are longer than files are kept")]
fn parts(time: Timestamp) -> (Answer, Answer) {
    (Answer::Number(time.seconds as f64), Answer::Number(time.nanoseconds.into()))
}

/// `S_IF*`
const fn bits(kind: Kind) -> u32 {
    match kind {
        Kind::Fifo => 0o010_000,
        Kind::CharacterDevice => 0o020_000,
        Kind::Directory => 0o040_000,
        Kind::BlockDevice => 0o060_000,
        Kind::File => 0o100_000,
        Kind::Link => 0o120_000,
        Kind::Socket => 0o140_000,
    }
}

/// Seconds since 1970, before it too.
fn times(accessed: f64, modified: f64) -> Times {
    let one = |seconds: f64| {
        let whole = seconds.floor();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a time out of range becomes the nearest there is"
        )]
        let (seconds, nanoseconds) = (whole as i64, ((seconds - whole) * 1e9) as i64);
        NewTime::At(Timestamp {
            seconds,
            nanoseconds: u32::try_from(nanoseconds.clamp(0, 999_999_999)).unwrap_or_default(),
        })
    };
    Times { accessed: Some(one(accessed)), modified: Some(one(modified)) }
}

/// A number that is an offset or a length.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked right before")]
fn whole(number: f64) -> Result<u64, Errno> {
    if number.is_finite() && (0.0..=9.0e15).contains(&number) {
        Ok(number as u64)
    } else {
        Err(Errno::INVAL)
    }
}

const MOST_AT_ONCE: usize = 16 << 20;
