//! A program that starts others in cages through the library alone, as an agent framework would. Reads one
//! request, as the daemon's API has it, from its first argument; prints why the program ended, or which kind
//! of failure kept it from starting.

use std::io::Write as _;

use cage::prepare::{
    Caller, Choice, Name, Sandbox, Selected, TooBroad, UncagedSelection, prepare, select,
};
use cage::runner::{Labels, Request, RunError, Runner, RunnerOptions, Uncaged, UncagedProgram};
use cage::state::Locations;
use policy::text::WrittenRules;
use serde_json::Value;

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let asked = std::env::args().nth(1).ok_or("a request is missing")?;
    let asked: &Value = &serde_json::from_str(&asked)?;
    let caller = Caller::of_this_process()?;
    let state = Locations::of_this_process().state.ok_or("there is no state directory")?;
    let options = RunnerOptions { uncaged: Uncaged::Allow, ..RunnerOptions::new(state) };
    let runner = Runner::start(options)?;
    let rules = asked.get("rules").cloned().map(serde_json::from_value::<WrittenRules>);
    let flags = match advice::flags::read(&rules.transpose()?.unwrap_or_default(), &caller) {
        Ok(flags) => flags,
        Err(failure) => {
            return tell(failure.kind.word());
        }
    };
    let labels =
        Labels { project_id: texts(field(asked, "project")).concat(), ..Labels::default() };
    let started = request(asked, &caller, &flags)
        .map_err(|error| runner.refused(labels.clone(), error))
        .and_then(|request| runner.spawn(Request { labels: labels.clone(), ..request }));
    match started {
        Ok(handle) => tell(handle.wait().reason.word()),
        Err(error) => tell(error.kind().word()),
    }
}

fn tell(word: &str) -> Result<(), Problem> {
    Ok(writeln!(std::io::stdout(), "{word}")?)
}

/// A field of the request; nothing where it is absent.
fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// From what is asked for to what a runner starts.
fn request(
    asked: &Value,
    caller: &Caller,
    flags: &policy::text::Rules,
) -> Result<Request, RunError> {
    let choice = Choice {
        project: field(asked, "project").as_str().map(Into::into),
        cage: field(asked, "cage").as_str().map(str::to_owned),
        agent: None,
        agents: cage::prepare::Agents::Defined,
        profile: None,
        capabilities: texts(field(asked, "capabilities")),
        sandbox: if *field(asked, "no_sandbox") == true { Sandbox::Off } else { Sandbox::On },
    };
    let argv: Vec<_> = texts(field(asked, "argv")).into_iter().map(Into::into).collect();
    match select(caller, &choice, flags, TooBroad::Refuse)? {
        Selected::Caged(selection) => Ok(Request::caged(prepare(&selection, &argv)?)),
        Selected::Uncaged(selection) => {
            let reason = selection.reason();
            let UncagedSelection { walltime, surroundings, .. } = *selection;
            Ok(Request::uncaged(UncagedProgram {
                invocation: Name::new().map_err(cage::prepare::PrepareError::NoRandomBytes)?.text,
                argv,
                environment: surroundings.environment.to_vec(),
                working_directory: surroundings.working_directory.as_path().to_owned(),
                walltime,
                reason,
            }))
        }
    }
}

/// One text or several.
fn texts(value: &Value) -> Vec<String> {
    let several = value.as_array().map(Vec::as_slice).unwrap_or(std::slice::from_ref(value));
    several.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
