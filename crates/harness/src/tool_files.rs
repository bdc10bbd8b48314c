//! Tools as files for whoever is outside of a cage: `stockade fs` with `tools:NAMES`. The tools run in a cage, by the policy
//! that holds where the command is given; inside of a cage they run in that one.

use std::path::PathBuf;
use std::sync::Arc;

use advice::Failure;
use agent::Hands;
use cage::Kind;
use cage::runner::Runner;
use cage::state::Locations;
use callfs::{CallFs, Tree};
use plan::{Calls, Inside};
use tools::Needs;
use vfs::Engine;

use crate::Tell;
use crate::arguments::CageArguments;
use crate::caged::{self, Caged};
use crate::inside_server::{Worker, toolbox};
use crate::selection;
use crate::work::end;

/// Tools that are served until it is dropped.
pub struct ToolFiles {
    engine: Arc<dyn Engine>,
    /// What runs them.
    runs: Runs,
}

enum Runs {
    Here(Worker),
    Caged(Box<(Caged, Runner)>),
}

impl ToolFiles {
    /// Starts what runs them. Before the first thread of the process.
    ///
    /// # Errors
    /// If that is not possible, or they are no tools.
    pub fn start(inside: &Inside, tell: &dyn Tell) -> Result<Self, Failure> {
        if inside.calls != Calls::Tools {
            return Err(Failure::new(Kind::Usage, "services are files in a cage alone")
                .help("mount them there: `mounts = [{ at = \"/n\", from = \"services:\" }]`"));
        }
        let names: Vec<String> = match inside.names.is_empty() {
            true => tools::NAMES.iter().map(|name| (*name).to_owned()).collect(),
            false => inside.names.clone(),
        };
        let granted =
            tools::granted(&names).map_err(|error| Failure::new(Kind::Usage, error.text))?;
        let cannot = |why: String| Failure::new(Kind::CannotBuild, why);
        if std::env::var_os("STOCKADE_CAGE").is_some() {
            let own = std::env::current_exe().map_err(|error| cannot(error.to_string()))?;
            let place = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
            let worker = Worker::start(&own, &place, &names).map_err(cannot)?;
            let engine = engine(&names, &worker.hands).map_err(cannot)?;
            return Ok(Self { engine, runs: Runs::Here(worker) });
        }
        let changes = |needs: Needs| matches!(needs, Needs::Write | Needs::Run);
        let needs_write = granted.iter().any(|tool| changes(tool.needs()));
        let mut selection = selection::find(&CageArguments::default(), needs_write, None)?;
        for warning in tools::warnings(&selection.policy, &selection.place, &granted) {
            tell.warning(&warning.to_string());
        }
        let locations = Locations::of_this_process();
        let runner = caged::runner(&selection, &locations)?;
        let caged = Caged::start(&runner, &mut selection, None, (&names, &locations, tell))?;
        let engine = engine(&names, &caged.hands).map_err(cannot)?;
        Ok(Self { engine, runs: Runs::Caged(Box::new((caged, runner))) })
    }

    /// The files.
    pub fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.engine)
    }

    /// Ends what runs them, and tells what it left.
    pub fn end(self, tell: &dyn Tell) {
        drop(self.engine);
        match self.runs {
            Runs::Here(worker) => drop(worker),
            Runs::Caged(caged) => {
                let (caged, runner) = *caged;
                end(caged, tell);
                drop(runner);
            }
        }
    }
}

fn engine(names: &[String], hands: &Arc<Hands>) -> Result<Arc<dyn Engine>, String> {
    let tree: Arc<dyn Tree> = toolbox(names, hands)?;
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Ok(Arc::new(CallFs::new(tree, owner)))
}
