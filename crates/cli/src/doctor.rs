//! `stockade doctor`: each layer of isolation on this machine, with the reason and the exact fix;
//! the last line is a real cage that was built and used. Changes nothing.

use std::path::PathBuf;

use advice::doctor::own_executable;
use cage::prepare::Caller;
use plan::HostPath;
use probe::{Layer, LayerState, Report, Subject};

use crate::arguments::DoctorArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::prepare::prepare;

/// The command.
pub(crate) fn doctor(arguments: &DoctorArguments, messages: Messages) -> Result<Exit, Failure> {
    let binary = own_executable()?;
    let project = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(_) => in_root()?,
    };
    let subject = Subject { binary: binary.as_path().to_owned(), project };
    let report = match arguments.only_cage {
        true => probe::cage_alone(build_cage(&binary)),
        false => probe::probe(&subject, || build_cage(&binary)),
    };
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

/// Builds a cage that shows nothing but this program, and has it say its version there.
fn build_cage(binary: &HostPath) -> Result<(), String> {
    let caller = Caller::of_this_process().map_err(|error| with_causes(&error))?;
    let probe = advice::doctor::probe_cage(&caller, binary);
    let prepared = prepare(&probe.selection, &probe.argv).map_err(|failure| failure.text())?;
    let ended = cage::run_trial(prepared).map_err(|error| with_causes(&error))?;
    advice::doctor::judge(ended.end)
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
