//! Descriptors that came from outside: inherited, handed over a socket, or taken from another
//! process; and walking up from one's own. T9, T63

use std::fs;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::{Mode, OFlags, openat};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::arena::PASSING_SOCKET;
use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new(
        "T9",
        "inherited-descriptor",
        "opens files below a directory that its starter had open",
        use_inherited,
    )
    .steals(),
    Attack::new(
        "T9",
        "inherited-descriptor-chdir",
        "changes into a directory that its starter had open",
        change_into_inherited,
    )
    .steals(),
    Attack::new(
        "T9",
        "descriptor-over-socket",
        "asks a host process for a descriptor",
        receive_descriptor,
    )
    .steals(),
    Attack::new(
        "T9",
        "descriptor-from-victim",
        "takes a descriptor from a host process with `pidfd_getfd`",
        |scene| take_descriptor(scene.victim.pid, scene.victim.descriptor),
    )
    .steals(),
    Attack::new(
        "T9",
        "descriptor-from-overseer",
        "takes every descriptor from pid 1 with `pidfd_getfd`",
        take_from_overseer,
    ),
    Attack::new("T63", "two-steps-up", "walks two steps up from a granted directory", |scene| {
        let directory = open_directory(&scene.project)?;
        read_at(&directory, "../../outside/secret")
    })
    .steals(),
    Attack::new("T63", "steps-up-from-system", "walks up from a granted system path", |scene| {
        let directory = open_directory(&scene.system)?;
        read_at(&directory, "../outside/secret")
    })
    .steals(),
    Attack::new("T63", "steps-up-from-root", "walks up from the root", |scene| {
        let root = open_directory(std::path::Path::new("/"))?;
        let secret = scene.secret();
        let path = secret.strip_prefix("/").unwrap_or(&secret);
        read_at(&root, std::path::Path::new("../../../..").join(path))
    })
    .steals(),
];

fn open_directory(path: &std::path::Path) -> Result<OwnedFd, Refused> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?)
}

fn read_at(directory: &OwnedFd, path: impl rustix::path::Arg) -> Result<Outcome, Refused> {
    let file = openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(Outcome::of_reading(&read_all(file)?))
}

fn read_all(file: OwnedFd) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::from(file);
    std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut bytes)?;
    Ok(bytes)
}

fn inherited_numbers() -> Result<Vec<String>, Refused> {
    let entries = fs::read_dir("/proc/self/fd")?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(|name| !matches!(name.as_str(), "0" | "1" | "2")).collect())
}

fn use_inherited(_scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let numbers = inherited_numbers()?;
    for number in &numbers {
        if let Ok(bytes) = fs::read(format!("/proc/self/fd/{number}/secret")) {
            return Ok(Outcome::of_reading(&bytes));
        }
    }
    Ok(Outcome::Failed(format!("{} descriptors, and none leads out", numbers.len())))
}

fn change_into_inherited(_scene: &Scene<'_>) -> Result<Outcome, Refused> {
    for number in inherited_numbers()? {
        let link = format!("/proc/self/fd/{number}");
        if std::env::set_current_dir(link).is_ok()
            && let Ok(bytes) = fs::read("secret")
        {
            return Ok(Outcome::of_reading(&bytes));
        }
    }
    Ok(Outcome::Failed("no descriptor leads out".to_owned()))
}

fn receive_descriptor(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let stream = UnixStream::connect(scene.outside.join(PASSING_SOCKET))?;
    let mut word = [0_u8; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut word)];
    recvmsg(&stream, &mut parts, &mut control, RecvFlags::empty())?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message
            && let Some(descriptor) = descriptors.next()
        {
            return Ok(Outcome::of_reading(&read_from_start(&descriptor)?));
        }
    }
    Ok(Outcome::Failed("connected, and got no descriptor".to_owned()))
}

fn take_descriptor(process: u32, number: u32) -> Result<Outcome, Refused> {
    let taken = steal(process, number)?;
    Ok(Outcome::of_reading(&read_from_start(&taken)?))
}

fn take_from_overseer(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let mut refusal = Refused("no descriptor".to_owned());
    for number in 0..64 {
        match steal(scene.overseer, number) {
            Ok(taken) => {
                return Ok(Outcome::Succeeded(format!("took descriptor {}", taken.as_raw_fd())));
            }
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

fn steal(process: u32, number: u32) -> Result<OwnedFd, Refused> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Refused("not a process id".to_owned()))?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let number = i32::try_from(number).unwrap_or(-1);
    Ok(pidfd_getfd(&handle, number, PidfdGetfdFlags::empty())?)
}

fn read_from_start(descriptor: &OwnedFd) -> std::io::Result<Vec<u8>> {
    let borrowed: BorrowedFd<'_> = std::os::fd::AsFd::as_fd(descriptor);
    let mut bytes = vec![0; 4096];
    let length = rustix::io::pread(borrowed, &mut bytes, 0)?;
    bytes.truncate(length);
    Ok(bytes)
}
