//! The victim: a process of the same user that holds secrets in its environment, memory and
//! descriptors, keeps every signal that it gets pending, and hands a descriptor to whoever connects
//! to it. Ends when its maker closes its standard input.

use std::io::{BufRead, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{LEDGER_BYTES, Victim};

/// The socket below the outside directory on which the victim gives its descriptor away.
pub(crate) const PASSING_SOCKET: &str = "passing.sock";
/// The variable that holds the victim's secret.
pub(crate) const SECRET_VARIABLE: &str = "STOCKADE_VICTIM_SECRET";

/// The victim's whole life.
pub(crate) fn victim_main(outside: &Path) -> ExitCode {
    match live(outside) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _unheard = writeln!(std::io::stderr(), "victim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn live(outside: &Path) -> std::io::Result<()> {
    sys::signal::set_mask(&sys::signal::SignalSet::full())?;
    // Where the Yama module is active, processes may only trace their descendants unless these ask
    // for it; without the module the call is unknown, and not needed.
    let _optional = rustix::process::set_ptracer(rustix::process::PTracer::Any);
    let mut secret = String::new();
    std::io::stdin().lock().read_line(&mut secret)?;
    let secret = secret.trim_end().as_bytes().to_vec();
    let ledger = vec![0_u8; LEDGER_BYTES];
    let descriptor = std::fs::File::open(outside.join("secret"))?;
    let listener = UnixListener::bind(outside.join(PASSING_SOCKET))?;
    let victim = Victim {
        pid: std::process::id(),
        secret_address: secret.as_ptr().addr() as u64,
        ledger_address: ledger.as_ptr().addr() as u64,
        descriptor: descriptor.as_raw_fd().unsigned_abs(),
    };
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", serde_json::to_string(&victim)?)?;
    stdout.flush()?;
    serve(&listener, &descriptor)?;
    // Kept to the end: others look at this memory.
    std::hint::black_box((&secret, &ledger));
    Ok(())
}

fn serve(listener: &UnixListener, descriptor: &std::fs::File) -> std::io::Result<()> {
    let stdin = std::io::stdin();
    loop {
        let mut waits = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
        ];
        poll(&mut waits, None)?;
        let [visitor, maker] = waits;
        if !maker.revents().is_empty() {
            return Ok(());
        }
        if visitor.revents().contains(PollFlags::IN) {
            let (stream, _) = listener.accept()?;
            let descriptors = [descriptor.as_fd()];
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
            // A visitor that has gone is no concern of the victim's.
            let _sent = sendmsg(
                &stream,
                &[std::io::IoSlice::new(b"take")],
                &mut control,
                SendFlags::NOSIGNAL,
            );
        }
    }
}
