//! The process inside of a cage that serves calls as files: it has the cage's authority and nothing else, starts a worker
//! that runs tools, as an agent outside has one, and answers the kernel. Never looks at a path of its own: a process that
//! waited for files which it serves itself would wait for good.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use agent::Hands;
use callfs::{CallFs, Joined, Models, RunsTools, ServiceFiles, Toolbox, Tree};
use fileserver::{Fuse, Settings};
use model::Cancel;
use plan::{Calls, INSIDE_PROGRAM, Inside, WrittenFrom};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::DumpableBehavior;
use serde_json::{Map, Value};
use tools::protocol::{Described, Start};

use crate::services::{Loopback, OfHost};

/// The whole life of the process. The kernel asks on standard input.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    match serve(words) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody listens: whoever uses the files sees that nobody serves them.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(words: &[OsString]) -> Result<(), String> {
    let text = words.first().and_then(|word| word.to_str()).ok_or("nothing to serve")?;
    let Ok(WrittenFrom::Inside(inside)) = WrittenFrom::parse(text) else {
        return Err("that is served by others".to_owned());
    };
    let failed = |errno: rustix::io::Errno| std::io::Error::from(errno).to_string();
    let device = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(failed)?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let nothing: OwnedFd =
        rustix::fs::openat(CWD, c"/dev/null", flags, Mode::empty()).map_err(failed)?;
    rustix::stdio::dup2_stdin(&nothing).map_err(failed)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed)?;
    let program = Path::new(INSIDE_PROGRAM);
    let place = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let (tree, _worker) = tree(&inside, program, &place)?;
    let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let engine = Arc::new(CallFs::new(tree, owner));
    let fuse = Fuse::begin(engine, device, Settings::default());
    let fuse = fuse.map_err(|error| error.to_string())?;
    fuse.serve().map_err(|error| error.to_string())
}

/// What there is to serve, and the worker behind it.
fn tree(
    inside: &Inside,
    program: &Path,
    place: &Path,
) -> Result<(Arc<dyn Tree>, Option<Worker>), String> {
    match inside.calls {
        Calls::Tools => {
            let names = match inside.names.is_empty() {
                true => tools::NAMES.iter().map(|name| (*name).to_owned()).collect(),
                false => inside.names.clone(),
            };
            let worker = Worker::start(program, place, &names)?;
            Ok((toolbox(&names, &worker.hands)?, Some(worker)))
        }
        Calls::Services => {
            let is_wanted =
                |name: &str| inside.names.is_empty() || inside.names.iter().any(|one| one == name);
            let mut trees: Vec<(String, Arc<dyn Tree>)> = Vec::new();
            if is_wanted(LLM) {
                trees.push((LLM.to_owned(), Arc::new(Models::new(Arc::new(Loopback::new()?)))));
            }
            for name in inside.names.iter().filter(|name| *name != LLM) {
                let service = ServiceFiles::new(Arc::new(OfHost::new(name)?));
                trees.push((name.clone(), Arc::new(service)));
            }
            Ok((Arc::new(Joined::new(trees)), None))
        }
    }
}

/// Tools as files, run by a worker.
pub(crate) fn toolbox(names: &[String], hands: &Arc<Hands>) -> Result<Arc<dyn Tree>, String> {
    let granted = tools::granted(names).map_err(|error| error.text)?;
    let described = granted.iter().map(|tool| Described {
        name: tool.name().to_owned(),
        doc: tool.doc().to_owned(),
        schema: tool.schema(),
    });
    let by: Arc<dyn RunsTools> = Arc::new(ByWorker(Arc::clone(hands)));
    Ok(Arc::new(Toolbox::new(&described.collect::<Vec<_>>(), &by)))
}

struct ByWorker(Arc<Hands>);

impl RunsTools for ByWorker {
    fn run(&self, tool: &str, arguments: &Map<String, Value>, cancel: &Cancel) -> String {
        self.0.run(tool, arguments, CALL_TIME, cancel).text
    }
}

/// A worker beside this process, which ends with it.
pub(crate) struct Worker {
    pub(crate) hands: Arc<Hands>,
    child: Child,
}

impl Worker {
    pub(crate) fn start(program: &Path, place: &Path, names: &[String]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.arg(crate::WORKER).arg(program).current_dir(place);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        sys::signal::restore_all_defaults_in(&mut command);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the worker has no pipe".to_owned());
        };
        let start = Start {
            tools: names.to_vec(),
            working_directory: place.to_owned(),
            spill: vec!["/scratch".into(), "/tmp".into()],
            most_result: crate::caged::MOST_RESULT,
        };
        let hands = Hands::start(from, to, start, READY).map_err(|error| error.to_string());
        match hands {
            Ok(hands) => Ok(Self { hands: Arc::new(hands), child }),
            Err(why) => {
                let _gone = child.kill();
                let _reaped = child.wait();
                Err(why)
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The service of models.
pub(crate) const LLM: &str = "llm";
const CALL_TIME: Duration = Duration::from_secs(1200);
const READY: Duration = Duration::from_secs(30);
