//! `stockade tool`: the tools of agents for a shell and its scripts, inside of a cage. A tool runs in this very process, so it
//! has what the process has.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use advice::Failure;
use cage::Kind;
use clap::{Args, Subcommand};
use policy::shown::shown;
use serde_json::{Map, Value};
use tools::{Call, Reader, Root, Shell, Spill, Tool, World};

use crate::work::Finish;

/// `stockade tool`.
#[derive(Debug, Args)]
pub struct ToolArguments {
    #[command(subcommand)]
    command: ToolCommand,
}

#[derive(Debug, Subcommand)]
enum ToolCommand {
    /// Name the tools, each with what it does
    List,
    /// Say how a tool is used, and what it takes as a JSON schema
    Doc {
        /// The tool
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Run a tool, in a cage
    Run {
        /// The tool
        #[arg(value_name = "NAME")]
        name: String,
        /// What it takes, as a JSON object; standard input without it
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
}

/// The command.
///
/// # Errors
/// If there is no such tool, or nothing to run it in.
pub fn tool(arguments: &ToolArguments) -> Result<Finish, Failure> {
    let (text, finish) = match &arguments.command {
        ToolCommand::List => {
            let line = |tool: &&'static dyn Tool| {
                let doc = tool.doc();
                let first = doc.split_once(". ").map_or(doc, |(first, _)| first);
                format!("{:<8} {first}\n", tool.name())
            };
            (tools::all().iter().map(line).collect(), Finish::Done)
        }
        ToolCommand::Doc { name } => {
            let tool = named(name)?;
            let schema = serde_json::to_string_pretty(&tool.schema()).unwrap_or_default();
            (format!("{}\n\n{schema}\n", tool.doc()), Finish::Done)
        }
        ToolCommand::Run { name, arguments } => run(named(name)?, arguments.as_deref())?,
    };
    // Whoever does not read it any more misses nothing that it wants.
    let mut stdout = std::io::stdout().lock();
    let _unread = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(finish)
}

fn named(name: &str) -> Result<&'static dyn Tool, Failure> {
    let found = tools::granted(&[name.to_owned()]);
    let found = found.map_err(|error| Failure::new(Kind::Usage, error.text))?;
    found.first().copied().ok_or_else(|| Failure::new(Kind::Usage, "there is no such tool"))
}

fn run(tool: &'static dyn Tool, arguments: Option<&str>) -> Result<(String, Finish), Failure> {
    if std::env::var_os("STOCKADE_CAGE").is_none() {
        return Err(Failure::new(Kind::Usage, "this is no cage: a tool would do whatever you can")
            .help("`stockade run -- stockade tool run …` runs it in one"));
    }
    let invalid = |why: &dyn std::fmt::Display| {
        Failure::new(Kind::Usage, format!("the arguments are no JSON object: {}", shown(why)))
    };
    let text = match arguments {
        Some(text) => text.to_owned(),
        None => {
            let mut text = String::new();
            let read = std::io::stdin().take(MOST_ARGUMENTS).read_to_string(&mut text);
            read.map_err(|error| invalid(&error))?;
            text
        }
    };
    let arguments: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| invalid(&error))?;
    let until = Instant::now() + CALL_TIME;
    let called = world().and_then(|world| {
        let call = Call {
            world: &world,
            reader: Reader::Anybody,
            until,
            is_cancelled: &|| false,
            progress: &|_| {},
        };
        tool.call(&arguments, &call)
    });
    Ok(match called {
        Ok(spilled) => (ended(spilled.text), Finish::Done),
        Err(error) => (ended(error.to_string()), Finish::NotDone),
    })
}

fn world() -> Result<World, tools::ToolError> {
    let place = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let spill = ["/scratch", "/tmp"].map(|path| Path::new(path).join("results"));
    let spill = spill.into_iter().find(|path| std::fs::create_dir_all(path).is_ok());
    let shell = ["/bin/bash", "/usr/bin/bash", "/bin/sh"].map(PathBuf::from);
    let shell = shell.into_iter().find(|path| path.exists()).unwrap_or_else(|| "/bin/sh".into());
    let own = std::env::current_exe().map_or_else(|_| "/proc/self/exe".into(), OsString::from);
    let reaper = vec![own, crate::REAPER.into()];
    let root = Root::open(Path::new("/"), Path::new("/"), &place)?;
    let shell = Shell { reaper, shell, working_directory: place };
    Ok(World::new(root, Spill::new(spill, crate::caged::MOST_RESULT), shell))
}

fn ended(text: String) -> String {
    if text.ends_with('\n') { text } else { text + "\n" }
}

const CALL_TIME: Duration = Duration::from_secs(3600);
const MOST_ARGUMENTS: u64 = 8 << 20;
