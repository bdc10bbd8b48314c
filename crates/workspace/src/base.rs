//! The text that host and cage began with, as far as Git knows it: the file of the commit that was checked out when
//! the run began. Git is asked about one object of the host's own repository, with nothing that its configuration
//! could start; no answer is never an error.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::beneath::{self, Root};
use crate::content::{self, MOST_TEXT};
use crate::error::WorkspaceError;
use crate::path::TreePath;

/// The text of a file in the recorded commit.
pub(crate) fn text(area: BorrowedFd<'_>, host: BorrowedFd<'_>, path: &TreePath) -> Option<Vec<u8>> {
    let commit = commit(area).ok()??;
    let mut name = commit.into_bytes();
    name.push(b':');
    name.extend_from_slice(path.as_bytes());
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(ENVIRONMENT.iter().copied())
        .args(ARGUMENTS)
        .arg(OsStr::from_bytes(&name))
        // Looked up by the child, which still has the descriptor.
        .current_dir(format!("/proc/self/fd/{}", host.as_fd().as_raw_fd()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut text = Vec::new();
    let read = child.stdout.take().map(|stdout| stdout.take(MOST_TEXT + 1).read_to_end(&mut text));
    let is_whole = u64::try_from(text.len()).is_ok_and(|length| length <= MOST_TEXT);
    if !is_whole {
        // It would wait for somebody to read the rest; the pipe is closed, so it ends by itself too.
        let _ = child.kill();
    }
    let succeeded = child.wait().is_ok_and(|status| status.success());
    (is_whole && succeeded && read.is_some_and(|read| read.is_ok())).then_some(text)
}

/// Notes which commit is checked out when the first run begins; what later runs begin with has its changes too. Without
/// a note, as where the directory is no repository of its own, nothing is merged.
pub fn note_commit(area: BorrowedFd<'_>, host: BorrowedFd<'_>) -> Result<(), WorkspaceError> {
    let Some(id) = checked_out(host) else { return Ok(()) };
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::openat(area, RECORDED, flags, mode) {
        Ok(file) => {
            let written = File::from(file).write_all(id.as_bytes());
            let errno = |error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
            written.map_err(errno).map_err(WorkspaceError::area("write"))
        }
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(WorkspaceError::area("create")(errno)),
    }
}

/// What `HEAD` says, without asking Git: a run begins with it.
fn checked_out(host: BorrowedFd<'_>) -> Option<String> {
    let git = Root::new(beneath::open_directory(host, b".git").ok()?);
    let read = |path: &[u8]| {
        let path = TreePath::parse(path).ok()?;
        let (parent, name) = git.parent(&path).ok()?;
        content::whole(parent.as_fd(), name, MOST_TEXT).ok()?
    };
    let head = read(b"HEAD")?;
    let head = head.trim_ascii();
    let Some(name) = head.strip_prefix(b"ref: ") else { return commit_id(head) };
    if let Some(id) = read(name) {
        return commit_id(id.trim_ascii());
    }
    let packed = read(b"packed-refs")?;
    let found = packed.split(|byte| *byte == b'\n').find_map(|line| {
        let (id, packed_name) =
            line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
        (packed_name.trim_ascii() == name).then_some(id)
    });
    commit_id(found?)
}

fn commit_id(text: &[u8]) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit);
    is_id.then(|| String::from_utf8_lossy(text).into_owned())
}

/// The commit that was recorded, if it is one.
fn commit(area: BorrowedFd<'_>) -> Result<Option<String>, Errno> {
    let Some(bytes) = content::whole(area, RECORDED, 128)? else { return Ok(None) };
    Ok(commit_id(bytes.trim_ascii()))
}

/// A commit id, written when a run begins.
const RECORDED: &[u8] = b"git-head";

/// A missing object is not fetched: that would start programs and use the network.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LC_ALL", "C"),
    ("GIT_DIR", ".git"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

const ARGUMENTS: &[&str] =
    &["--no-pager", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "cat-file", "blob"];
