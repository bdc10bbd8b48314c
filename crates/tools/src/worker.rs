//! The process in a cage that runs tools for an agent outside: it reads calls, runs each in a thread of its own, and
//! answers. It ends when its input does, with everything that it runs. Never asks a model, and has no key.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::catalog::granted;
use crate::children::Children;
use crate::error::{ErrorKind, ToolError};
use crate::exec::Shell;
use crate::protocol::{Described, FromWorker, Start, ToWorker, receive, send};
use crate::root::Root;
use crate::spill::Spill;
use crate::tool::{Call, Needs, Reader, Tool, World};

/// Has the thread that calls it, for good, no more than a tool needs that works with what is in these directories.
pub type Narrow = fn(Needs, &[PathBuf]) -> io::Result<()>;

/// Serves calls until the input ends. The words start a [reaper](crate::reaper), and a worker that is a child. Each call
/// runs in a thread of its own, which is narrowed to what its tool needs. V22
///
/// # Errors
/// If the other side is gone or makes no sense.
pub fn run(
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
    (reaper, child): (Vec<OsString>, Vec<OsString>),
    narrow: Narrow,
) -> io::Result<()> {
    let Some(ToWorker::Start(start)) = receive(&mut input)? else {
        return Err(io::Error::other("the first line has to begin"));
    };
    let output = Arc::new(Mutex::new(output));
    let worker = match Worker::begin(&start, reaper, narrow) {
        Ok(worker) => Arc::new(worker),
        Err(error) => return send(&mut *lock(&output), &FromWorker::Failed { text: error.text }),
    };
    send(&mut *lock(&output), &FromWorker::Ready { tools: worker.described() })?;
    let mut children = Children::new(child);
    while let Some(message) = receive(&mut input)? {
        match message {
            ToWorker::Start(_) => return Err(io::Error::other("it has begun already")),
            ToWorker::Forget => worker.world.forget_reads(),
            ToWorker::OpenChild { child, narrowing, directory } => {
                children.open(child, &narrowing, &directory, &output)?;
            }
            ToWorker::ToChild { child, line } => children.pass(child, &line),
            ToWorker::CloseChild { child } => children.close(child),
            ToWorker::Cancel { id } => {
                if let Some(cancelled) = lock(&worker.calls).get(&id) {
                    cancelled.store(true, Ordering::Relaxed);
                }
            }
            ToWorker::Call { id, tool, arguments, seconds, reader } => {
                worker.begin_call((id, reader), tool, arguments, seconds, &output)?;
            }
        }
    }
    Ok(())
}

struct Worker {
    world: World,
    tools: Vec<&'static dyn Tool>,
    /// Those that run, and how each is cancelled.
    calls: Mutex<HashMap<u64, Arc<AtomicBool>>>,
    narrow: Narrow,
    /// Where large results go.
    spill: Vec<PathBuf>,
}

impl Worker {
    fn begin(start: &Start, reaper: Vec<OsString>, narrow: Narrow) -> Result<Self, ToolError> {
        let tools = granted(&start.tools)?;
        let root = Root::open(Path::new("/"), Path::new("/"), &start.working_directory)?;
        let spill = start
            .spill
            .iter()
            .map(|path| path.join("results"))
            .find(|path| std::fs::create_dir_all(path).is_ok());
        let shells = ["/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh"].map(PathBuf::from);
        let shell =
            shells.into_iter().find(|shell| shell.exists()).unwrap_or_else(|| "/bin/sh".into());
        let shell = Shell { reaper, shell, working_directory: start.working_directory.clone() };
        let kept = spill.iter().cloned().collect();
        let world = World::new(root, Spill::new(spill, start.most_result), shell);
        Ok(Self { world, tools, calls: Mutex::default(), narrow, spill: kept })
    }

    fn described(&self) -> Vec<Described> {
        let described = |tool: &&'static dyn Tool| Described {
            name: tool.name().to_owned(),
            doc: tool.doc().to_owned(),
            schema: tool.schema(),
        };
        self.tools.iter().map(described).collect()
    }

    fn begin_call(
        self: &Arc<Self>,
        (id, reader): (u64, Reader),
        tool: String,
        arguments: Map<String, Value>,
        seconds: u64,
        output: &Arc<Mutex<impl Write + Send + 'static>>,
    ) -> io::Result<()> {
        let cancelled = Arc::new(AtomicBool::new(false));
        {
            let mut calls = lock(&self.calls);
            if calls.len() >= MOST_CALLS || calls.contains_key(&id) {
                let text = format!("error: {MOST_CALLS} calls at one time are the most");
                drop(calls);
                return send(
                    &mut *lock(output),
                    &FromWorker::Done { id, text, file: None, is_error: true },
                );
            }
            calls.insert(id, Arc::clone(&cancelled));
        }
        let (worker, output) = (Arc::clone(self), Arc::clone(output));
        let until = Instant::now() + Duration::from_secs(seconds.clamp(1, MOST_SECONDS));
        let builder = std::thread::Builder::new().name(format!("call {id}"));
        builder.spawn(move || {
            let progress = |text: &str| {
                let text = text.chars().take(MOST_PROGRESS).collect();
                // Whoever does not listen any more ends us by closing our input.
                let _gone = send(&mut *lock(&output), &FromWorker::Progress { id, text });
            };
            let call = Call {
                world: &worker.world,
                reader,
                until,
                is_cancelled: &|| cancelled.load(Ordering::Relaxed),
                progress: &progress,
            };
            let done = worker.call(&tool, &arguments, &call);
            lock(&worker.calls).remove(&id);
            let (text, file, is_error) = match done {
                Ok(spilled) => (spilled.text, spilled.file, false),
                Err(error) => (error.to_string(), None, true),
            };
            let _gone = send(&mut *lock(&output), &FromWorker::Done { id, text, file, is_error });
        })?;
        Ok(())
    }

    fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        call: &Call<'_>,
    ) -> Result<crate::Spilled, ToolError> {
        let Some(tool) = self.tools.iter().find(|known| known.name() == tool) else {
            let name: String = tool.chars().take(60).collect();
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
            let text = format!("there is no tool `{name}` here; there are {}", names.join(", "));
            return Err(ToolError::new(ErrorKind::Missing, text));
        };
        (self.narrow)(tool.needs(), &self.spill).map_err(|error| {
            let text =
                format!("the call cannot be narrowed to what `{}` needs: {error}", tool.name());
            ToolError::new(ErrorKind::Failed, text)
        })?;
        tool.call(arguments, call).or_else(|error| {
            // An error can hold output too.
            let bounded = self.world.spill.bound(tool.name(), error.text)?;
            Err(ToolError::new(error.kind, bounded.text))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_CALLS: usize = 64;
const MOST_SECONDS: u64 = 3600;
const MOST_PROGRESS: usize = 4000;
