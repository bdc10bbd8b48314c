//! `stockade doctor`: each layer of isolation on this machine, with the reason and the exact fix;
//! the last line is a real cage that was built and used. Changes nothing.

use std::ffi::OsString;
use std::path::PathBuf;

use cage::probe::{self, Layer, LayerState, Report, Subject};
use cage::resolve::Surroundings;
use plan::HostPath;
use policy::{FsAccess, FsRule, NetworkSettings, Place, Policy, Reach, RuleOrigin};

use crate::arguments::DoctorArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::prepare::prepare;
use crate::selection::Selection;

/// The command.
pub(crate) fn doctor(arguments: &DoctorArguments, messages: Messages) -> Result<Exit, Failure> {
    let binary = own_executable()?;
    let project = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(_) => in_root()?,
    };
    let subject = Subject { binary: binary.as_path().to_owned(), project };
    let report = probe::probe(&subject, || build_cage(&binary));
    let sound = report.can_build_cages();
    if arguments.json {
        let value = serde_json::to_value(&report)
            .map_err(|error| Failure::new(Exit::No, error.to_string()))?;
        print_json(&value)?;
    } else {
        print(&describe(&report))?;
    }
    if sound {
        return Ok(Exit::Success);
    }
    messages.error("a cage cannot be built here: a required layer is absent");
    Ok(Exit::CannotBuild)
}

/// A working directory that was removed says nothing about the machine.
fn in_root() -> Result<PathBuf, Failure> {
    let root = PathBuf::from("/");
    std::env::set_current_dir(&root)
        .map_err(|error| Failure::new(Exit::CannotBuild, format!("chdir `/`: {error}")))?;
    Ok(root)
}

/// The file of this very program, wherever it was started from.
pub(crate) fn own_executable() -> Result<HostPath, Failure> {
    let failed = |why: String| Failure::new(Exit::CannotBuild, format!("/proc/self/exe: {why}"));
    let path = std::fs::read_link("/proc/self/exe").map_err(|error| failed(error.to_string()))?;
    HostPath::new(path.into_os_string()).map_err(|error| failed(error.to_string()))
}

/// Builds a cage that shows nothing but this program, and has it say its version there.
fn build_cage(binary: &HostPath) -> Result<(), String> {
    let origin = RuleOrigin::BuiltIn("the program that checks itself");
    let rule =
        FsRule { access: FsAccess::ReadOnly, path: binary.clone(), reach: Reach::Anywhere, origin };
    let grantable = policy::ungrantable::check(binary, &[]).is_ok();
    let argv = if grantable {
        vec![binary.as_path().as_os_str().to_owned(), OsString::from("--version")]
    } else {
        vec![OsString::from("true")]
    };
    let policy =
        Policy { fs: if grantable { vec![rule] } else { Vec::new() }, ..Policy::closed("doctor") };
    let project = binary.parent().unwrap_or_else(HostPath::root);
    let text = |failure: Failure| failure.text();
    let surroundings = Surroundings::of_this_process(project.clone()).map_err(Failure::from);
    let surroundings = surroundings.map_err(text)?;
    let place = Place { project, home: None, own_state: Vec::new() };
    let selection = Selection {
        policy,
        agent_command: Vec::new(),
        place,
        surroundings,
        ceiling: None,
        network: NetworkSettings::default(),
    };
    let prepared = prepare(&selection, &argv).map_err(text)?;
    let captured = cage::run_captured(&prepared.plan, &prepared.sources)
        .map_err(|error| crate::failure::with_causes(&error))?;
    match captured.outcome.end {
        jail::End::Exited(0) => Ok(()),
        end => Err(format!("a cage was built, and the program in it ended badly: {end:?}")),
    }
}

fn describe(report: &Report) -> String {
    let width = report.layers.iter().map(|layer| layer.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for layer in &report.layers {
        text.push_str(&describe_layer(layer, width));
    }
    for note in &report.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

fn describe_layer(layer: &Layer, width: usize) -> String {
    let state = match layer.state {
        LayerState::Present => "present",
        LayerState::Degraded => "degraded",
        LayerState::Absent if layer.required => "ABSENT",
        LayerState::Absent => "absent",
    };
    let mut text = format!("{:width$}  {state:8}  {}\n", layer.name, layer.why);
    for (position, line) in layer.fix.iter().flat_map(|fix| fix.lines()).enumerate() {
        let label = if position == 0 { "fix: " } else { "     " };
        text.push_str(&format!("{:width$}  {label}{line}\n", ""));
    }
    text
}
