//! The operations that are about the program and not about files: its words, clocks, chance, hashes, its end.

use std::rc::Rc;

use rquickjs::Object;
use rquickjs::function::Func;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::rand::GetRandomFlags;
use rustix::time::{ClockId, clock_gettime};
use sha2::Digest as _;
use typescript::{Refused, Why};

use super::answer::{Answer, Outcome, Told, bytes_of, number};
use super::files::operations;
use super::host::Host;
use crate::processor::{duration, used_by_thread};
use crate::streams::Stream;

pub(super) fn add_to(native: &Object<'_>, host: &Rc<Host>) -> rquickjs::Result<()> {
    operations! { native, host:
        "arguments"() {
            let world = host.world.borrow();
            Ok(Answer::List(world.arguments.iter().map(|word| text(word)).collect()))
        };
        "environment"() {
            let world = host.world.borrow();
            let pairs = world.environment.iter().flat_map(|(name, value)| [text(name), text(value)]);
            Ok(Answer::List(pairs.collect()))
        };
        "workingDirectory"() Ok(Answer::Text(host.working_directory()));
        "changeDirectory"(path: String) {
            host.change_directory(path);
            Ok(Answer::Nothing)
        };
        "user"() Ok(Answer::List(vec![
            Answer::Number(host.caller.uid.into()),
            Answer::Number(host.caller.gid.into()),
            Answer::Number(host.world.borrow().caller.pid.into()),
            Answer::Number(host.caller.umask.into()),
        ]));
        "processor"() Ok(Answer::Text(std::env::consts::ARCH.to_owned()));
        "exit"(status: i32) {
            host.exit.set(Some(status));
            Ok(Answer::Nothing)
        };
        "setStatus"(status: i32) {
            host.status.set(status);
            Ok(Answer::Nothing)
        };
        "waitForInput"(milliseconds: f64) wait_for_input(host, milliseconds);
        "isTerminal"(fd: i32) {
            let stream = [Stream::Input, Stream::Output, Stream::Error];
            let stream = usize::try_from(fd).ok().and_then(|fd| stream.get(fd).copied());
            let world = host.world.borrow();
            let is = stream.is_some_and(|stream| world.streams.is_terminal(stream));
            Ok(Answer::Number(f64::from(u8::from(is))))
        };
        "now"() Ok(Answer::Number(duration(clock_gettime(ClockId::Realtime)).as_secs_f64() * 1000.0));
        "monotonic"() Ok(nanoseconds(duration(clock_gettime(ClockId::Monotonic))));
        "cpu"() Ok(nanoseconds(used_by_thread()));
        "random"(count: u32) random(count);
        "hash"(algorithm: String, text: String) hash(&algorithm, &bytes_of(&text, true)?);
        "encode"(text: String) Ok(Answer::Bytes(text.into_bytes()));
        "decode"(text: String) {
            let bytes = bytes_of(&text, true)?;
            Ok(Answer::Text(String::from_utf8_lossy(&bytes).into_owned()))
        };
        "strip"(text: String) Ok(match typescript::strip(&text) {
            Ok(text) => Answer::Text(text),
            Err(Refused { line, column, why }) => {
                let (kind, what) = match why {
                    Why::Syntax(what) => (0, what),
                    Why::NotErasable(what) => (1, what),
                };
                let place = [number(line as u64), number(column as u64), number(kind)];
                Answer::List(place.into_iter().chain([text_of(what)]).collect())
            }
        });
        "isValid"(text: String) {
            let is = std::str::from_utf8(&bytes_of(&text, true)?).is_ok();
            Ok(Answer::Number(f64::from(u8::from(is))))
        };
    }
    Ok(())
}

fn text_of(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

fn text(bytes: &[u8]) -> Answer {
    Answer::Text(String::from_utf8_lossy(bytes).into_owned())
}

/// Seconds and nanoseconds: together they would not be exact.
fn nanoseconds(time: std::time::Duration) -> Answer {
    Answer::List(vec![number(time.as_secs()), Answer::Number(time.subsec_nanos().into())])
}

/// Whether there is something to read within that time; a negative one is any time.
fn wait_for_input(host: &Host, milliseconds: f64) -> Outcome {
    let world = host.world.borrow();
    let Some(descriptor) = world.streams.descriptor(Stream::Input) else {
        return Ok(Answer::Number(1.0));
    };
    let most = (milliseconds >= 0.0).then(|| milliseconds.min(LONGEST_WAIT) / 1000.0);
    let most = most.map(std::time::Duration::from_secs_f64).map(|most| Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: most.subsec_nanos().into(),
    });
    let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
    match rustix::event::poll(&mut polled, most.as_ref()) {
        Ok(count) => Ok(Answer::Number(f64::from(u8::from(count > 0)))),
        Err(rustix::io::Errno::INTR) => Ok(Answer::Number(0.0)),
        Err(errno) => Err(errno.into()),
    }
}

fn random(count: u32) -> Outcome {
    if count > MOST_RANDOM {
        return Err(rustix::io::Errno::INVAL.into());
    }
    let mut bytes = vec![0; usize::try_from(count).unwrap_or_default()];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        done += rustix::rand::getrandom(rest, GetRandomFlags::empty())?;
    }
    Ok(Answer::Bytes(bytes))
}

fn hash(algorithm: &str, bytes: &[u8]) -> Outcome {
    Ok(Answer::Bytes(match algorithm {
        "sha1" => sha1::Sha1::digest(bytes).to_vec(),
        "sha224" => sha2::Sha224::digest(bytes).to_vec(),
        "sha256" => sha2::Sha256::digest(bytes).to_vec(),
        "sha384" => sha2::Sha384::digest(bytes).to_vec(),
        "sha512" => sha2::Sha512::digest(bytes).to_vec(),
        _ => return Err(rustix::io::Errno::NOTSUP.into()),
    }))
}

/// Milliseconds: afterwards it is asked again.
const LONGEST_WAIT: f64 = 60_000.0;
const MOST_RANDOM: u32 = 16 << 20;
