//! Covert channels and obstruction: named pipes, watches and locks on the host's files. T35

use std::fs;
use std::io::Write;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FlockOperation, Mode, OFlags};

use crate::attack::{Attack, Outcome};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T35", "named-pipe", "sends through a named pipe of the host", |scene| {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(scene.outside.join("fifo"), flags, Mode::empty())?;
        fs::File::from(pipe).write_all(format!("{};", scene.mark()).as_bytes())?;
        Ok(Outcome::Attempted("sent".to_owned()))
    })
    .harms(),
    Attack::new("T35", "watch-outside", "watches a directory that nothing grants", |scene| {
        let watcher = inotify::init(CreateFlags::CLOEXEC)?;
        inotify::add_watch(&watcher, &scene.outside, WatchFlags::ALL_EVENTS)?;
        Ok(Outcome::Succeeded("watches it".to_owned()))
    }),
    Attack::new("T35", "watch-home", "watches the secrets of the home", |scene| {
        let watcher = inotify::init(CreateFlags::CLOEXEC)?;
        inotify::add_watch(&watcher, scene.home.join(".ssh"), WatchFlags::ALL_EVENTS)?;
        Ok(Outcome::Succeeded("watches it".to_owned()))
    }),
    Attack::new("T35", "lock-outside", "locks a file that nothing grants", |scene| {
        let file = fs::File::open(scene.target())?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Outcome::Succeeded("holds the lock".to_owned()))
    }),
    Attack::new("T35", "lock-hidden", "locks the hidden file", |scene| {
        let file = fs::File::open(scene.project.join("private/secret.txt"))?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Outcome::Succeeded("holds the lock".to_owned()))
    }),
];
