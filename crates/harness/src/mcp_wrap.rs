//! `stockade mcp wrap`: somebody else's server of tools in a cage, with a filter between it and the client on standard
//! streams. What a tool looked like when it was seen first is kept for the server's command line in this project; one
//! that has changed is held back until it is approved.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use advice::Failure;
use cage::Kind;
use cage::prepare::{Selection, prepare};
use cage::runner::{
    Handle, Input, Keep, Labels, Output, OutputReader, Overflow, Request, Runner, Streams,
};
use cage::state::{Directory, Locations, StateError};
use mcp::filter::{Filter, Notice, Step};
use mcp::{Message, Pins, failure};
use policy::shown::shown;
use sha2::{Digest as _, Sha256};

use crate::Tell;
use crate::arguments::{CageArguments, WrapArguments};
use crate::caged::{self, last_words};
use crate::mcp_serve::{next_line, say};
use crate::record::Record;
use crate::selection;
use crate::work::Finish;

/// What both directions share.
struct Between<'a> {
    filter: Filter,
    /// None after the end of the client.
    to_server: Option<File>,
    record: Record,
    pins: PathBuf,
    tell: &'a dyn Tell,
}

pub(crate) fn wrap(arguments: &WrapArguments, tell: &dyn Tell) -> Result<Finish, Failure> {
    let mut selection = selection::for_server(&arguments.cage)?;
    let locations = Locations::of_this_process();
    let path = pins_path(&arguments.server, &selection, &locations)?;
    let pins = read_pins(&path)?;
    let runner = caged::runner(&selection, &locations)?;
    let server = (arguments.server.as_slice(), &arguments.cage);
    let handle = start(server, &runner, &mut selection, &locations, tell)?;
    let (Some(stdin), Some(stdout)) = (handle.take_stdin(), handle.stdout()) else {
        return Err(Failure::new(Kind::CannotBuild, "the server in the cage has no pipe"));
    };
    let between = Mutex::new(Between {
        filter: Filter::new(arguments.tools.clone(), pins, arguments.approve),
        to_server: Some(File::from(stdin)),
        record: Record::new(runner.log(), handle.invocation_id()),
        pins: path,
        tell,
    });
    let from_server = stdout.reader();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            listen(from_server, &between);
            // Its client waits for nothing more, and our input may never end.
            let ended = handle.wait();
            if lock(&between).to_server.is_some() {
                let said =
                    handle.stderr().map(|output| last_words(output.reader())).unwrap_or_default();
                tell.warning(&format!(
                    "the server ended: {}. {}",
                    ended.reason.word(),
                    shown(said)
                ));
                std::process::exit(1);
            }
        });
        let mut input = std::io::stdin().lock();
        while let Some(line) = next_line(&mut input) {
            match Message::read(&line) {
                Ok(message) => lock(&between).client(message),
                Err(error) => say(&failure(None, PARSE, error.to_string())),
            }
        }
        lock(&between).to_server = None;
        handle.begin_close(cage::EndReason::Cancelled);
    });
    handle.wait();
    Ok(Finish::Done)
}

/// Starts a server by its command line.
pub(crate) fn start(
    (server, cage): (&[OsString], &CageArguments),
    runner: &Runner,
    selection: &mut Selection,
    locations: &Locations,
    tell: &dyn Tell,
) -> Result<Handle, Failure> {
    let session = caged::enter(selection, cage.session.as_deref(), locations)?;
    let session_id = session.as_ref().map(|session| session.id().as_str().to_owned());
    let prepared = prepare(selection, server)?;
    for note in advice::notes::of(&prepared) {
        tell.note(&note);
    }
    let plan = Arc::clone(&prepared.plan);
    let project_id = selection.surroundings.project.to_string();
    let streams = Streams::Separate {
        stdin: Input::Pipe,
        stdout: Output::Keep(Keep { bytes: 8 << 20, overflow: Overflow::Backpressure }),
        stderr: Output::Keep(Keep { bytes: 64 << 10, overflow: Overflow::Discard }),
    };
    let labels = Labels { project_id, session_id, subagent_name: None };
    let request = Request { labels, streams, session, ..Request::from(prepared) };
    runner.spawn(request).map_err(|error| advice::failed_start(error, Some(&plan)))
}

/// Reads the server to its end. What is no message is none: some print other things.
fn listen(from_server: OutputReader, between: &Mutex<Between<'_>>) {
    let mut input = BufReader::new(from_server);
    while let Some(line) = next_line(&mut input) {
        if let Ok(message) = Message::read(&line) {
            lock(between).server(message);
        }
    }
}

impl Between<'_> {
    fn client(&mut self, message: Message) {
        let steps = self.filter.from_client(message);
        self.steps(steps);
    }

    fn server(&mut self, message: Message) {
        let before = self.filter.pins().clone();
        let steps = self.filter.from_server(message);
        // What was pinned is kept before the client sees the tool.
        if *self.filter.pins() != before
            && let Err(error) = write_pins(&self.pins, self.filter.pins())
        {
            self.tell.warning(&format!("what tools look like cannot be kept: {error}"));
            return;
        }
        self.steps(steps);
    }

    fn steps(&mut self, steps: Vec<Step>) {
        let mut unrecorded = None;
        for step in steps {
            match (step, &unrecorded) {
                (Step::Call { call, tool, arguments }, _) => {
                    let text = serde_json::to_vec(&arguments).unwrap_or_default();
                    unrecorded =
                        self.record.calls(agent::CallId::outermost(call), &tool, &text).err();
                }
                (Step::ToServer(Message::Request { id, .. }), Some(error)) => {
                    say(&failure(
                        Some(id),
                        FAILED,
                        format!("the call cannot be recorded: {error}"),
                    ));
                }
                (Step::ToServer(message), _) => {
                    if let Some(server) = &mut self.to_server {
                        // One that is gone is heard of by the end of its output.
                        let _gone = writeln!(server, "{}", message.to_line());
                    }
                }
                (Step::ToClient(message), _) => say(&message),
                (Step::Result { call, result, is_error }, _) => {
                    let text = serde_json::to_vec(&result).unwrap_or_default();
                    self.record.called(call, &text, is_error);
                }
                (Step::Notice(notice), _) => tell_notice(&notice, self.tell),
            }
        }
    }
}

/// Says what somebody should know.
pub(crate) fn tell_notice(notice: &Notice, tell: &dyn Tell) {
    match notice {
        Notice::Pinned(tool) => tell.note(&format!("tool `{}` is approved as it is now", shown(tool))),
        Notice::Changed(tool) => tell.warning(&format!(
            "tool `{}` has changed since it was approved, and does not pass: look at it, then add `--approve`",
            shown(tool)
        )),
        Notice::Missing(tool) => tell.warning(&format!("the server has no tool `{}`", shown(tool))),
        Notice::Asked(method) => tell.note(&format!("the server asked for `{}` and did not get it", shown(method))),
    }
}

/// A file for the server's command line in this project.
pub(crate) fn pins_path(
    server: &[OsString],
    selection: &Selection,
    locations: &Locations,
) -> Result<PathBuf, Failure> {
    let mut hasher = Sha256::new();
    for word in std::iter::once(selection.place.project.as_bytes())
        .chain(server.iter().map(|word| word.as_encoded_bytes()))
    {
        hasher.update((word.len() as u64).to_le_bytes());
        hasher.update(word);
    }
    let name: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let state = locations.state.as_ref().ok_or(StateError::NoPlace)?;
    let directory = Directory::open(state)?.path().as_path().join("mcp");
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(|error| {
        Failure::new(Kind::CannotBuild, format!("`{}`: {error}", directory.display()))
    })?;
    Ok(directory.join(format!("{name}.json")))
}

/// What cannot be read is no approval, and no reason to begin anew either.
pub(crate) fn read_pins(path: &Path) -> Result<Pins, Failure> {
    let failed = |why: String| {
        Failure::new(
            Kind::CannotBuild,
            format!("`{}`, where approved tools are, cannot be read: {why}", path.display()),
        )
        .help("remove it to approve the tools anew")
    };
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Pins::default()),
        Err(error) => Err(failed(error.to_string())),
    }
}

pub(crate) fn write_pins(path: &Path, pins: &Pins) -> std::io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut file =
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(pins)?)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

fn lock<'a, 'b>(between: &'a Mutex<Between<'b>>) -> MutexGuard<'a, Between<'b>> {
    between.lock().unwrap_or_else(PoisonError::into_inner)
}

const PARSE: i32 = -32700;
const FAILED: i32 = -32000;
