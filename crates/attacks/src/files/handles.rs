//! Opening files without a path: by file handle, by a ring of requests; and starting programs that
//! have no path. T10

use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use sys::raw::{self, Probe};

use crate::Arena;
use crate::attack::{Attack, Outcome, Refused, Scene, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new(
        "T10",
        "open-by-handle",
        "opens a file outside by the handle that its file system gives it",
        open_by_handle,
    )
    .steals()
    .twin(Twin::Root),
    Attack::new("T10", "handle-of-outside", "asks for the handle of a path outside", |scene| {
        let path = CString::new(scene.secret().as_os_str().as_bytes())
            .map_err(|error| Refused(error.to_string()))?;
        let handle = raw::name_to_handle(&path)?;
        Ok(Outcome::Succeeded(format!("a handle of {} bytes", handle.bytes.len())))
    }),
    Attack::call("T10", "io-uring-setup", Probe::IoUringSetup),
    Attack::call("T10", "io-uring-enter", Probe::IoUringEnter),
    Attack::call("T10", "io-uring-register", Probe::IoUringRegister),
    Attack::new(
        "T10",
        "memory-file-program",
        "starts a program from memory and reads outside with it",
        start_from_memory,
    )
    .steals(),
];

/// The file system is the same whichever mount of it the anchor is on, so the handle leads to any
/// file of it.
fn open_by_handle(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let Some(handle) = &scene.secret_handle else {
        return Ok(Outcome::NotApplicable("this file system has no handles".to_owned()));
    };
    let handle = raw::FileHandle { kind: handle.kind, bytes: handle.bytes.clone() };
    let anchor = fs::File::open(&scene.project)?;
    let file = raw::open_by_handle(anchor.as_fd(), &handle)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut fs::File::from(file), &mut bytes)?;
    Ok(Outcome::of_reading(&bytes))
}

/// A program without a path escapes rules on names of programs, and must not escape anything else.
fn start_from_memory(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let flags = rustix::fs::MemfdFlags::empty();
    let memory = rustix::fs::memfd_create("program", flags)?;
    let written = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let program = fs::read(Arena::attacker(&scene.project))?;
    let mut memory = fs::File::from(memory);
    memory.write_all(&program)?;
    // A file that someone may write to cannot be started: keep a descriptor for reading alone.
    let readable = rustix::fs::open(written, OFlags::RDONLY, Mode::empty())?;
    drop(memory);
    let path = format!("/proc/self/fd/{}", readable.as_raw_fd());
    let output = Command::new(path)
        .args(["__attack", "one", "proc-self-root"])
        .arg(Arena::file(&scene.project))
        .output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    match Outcome::of_reading(told.as_bytes()) {
        Outcome::Failed(_) => Ok(Outcome::Failed(format!("started, and still: {}", told.trim()))),
        other => Ok(other),
    }
}
