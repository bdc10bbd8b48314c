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
use crate::inside::cage_around;
use crate::message::Messages;
use crate::output::{print, print_json};
use cage::prepare::prepare;

/// The command.
pub(crate) fn doctor(arguments: &DoctorArguments, messages: Messages) -> Result<Exit, Failure> {
    if let (Some(name), false) = (cage_around(), arguments.only_cage) {
        let name = policy::shown::shown(name);
        return Err(Failure::new(
            Exit::CannotBuild,
            format!("this is inside the cage `{name}`, and no cage can be built in a cage"),
        )
        .help("ask on the host; what this cage has is said by `stockade check` and `why` there"));
    }
    let binary = own_executable()?;
    let project = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(_) => in_root()?,
    };
    let subject = Subject { binary: binary.as_path().to_owned(), project };
    let report = match arguments.only_cage {
        true => probe::cage_alone(build_cage(&binary)),
        false => probe::probe(&subject, || build_cage(&binary), || build_view(&binary)),
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

/// Builds one with a view of an empty directory, which goes again with its layer.
fn build_view(binary: &HostPath) -> Result<(), (String, String)> {
    let no_view = |why: String| (why, advice::workspaces::NO_VIEW.to_owned());
    let name = format!("stockade-doctor-{}", std::process::id());
    let place = std::env::temp_dir().join(name);
    std::fs::create_dir(&place).map_err(|error| no_view(error.to_string()))?;
    let built = build_view_of(binary, &place).map_err(no_view);
    // What stays is empty.
    let _gone = std::fs::remove_dir(&place);
    built
}

fn build_view_of(binary: &HostPath, place: &std::path::Path) -> Result<(), String> {
    let real = std::fs::canonicalize(place).map_err(|error| error.to_string())?;
    let directory = HostPath::new(real.into_os_string()).map_err(|error| error.to_string())?;
    let caller = Caller::of_this_process().map_err(|error| with_causes(&error))?;
    let mut probe = advice::doctor::view_cage(&caller, binary, &directory);
    let _session =
        crate::session::for_a_look(&mut probe.selection).map_err(|failure| failure.text())?;
    let prepared =
        prepare(&probe.selection, &probe.argv).map_err(|error| Failure::from(error).text())?;
    let ended = cage::run_trial(prepared).map_err(|error| with_causes(&error));
    advice::doctor::judge(ended?.end)
}

/// Builds a cage that shows nothing but this program, and has it say its version there.
fn build_cage(binary: &HostPath) -> Result<(), String> {
    let caller = Caller::of_this_process().map_err(|error| with_causes(&error))?;
    let probe = advice::doctor::probe_cage(&caller, binary);
    let prepared =
        prepare(&probe.selection, &probe.argv).map_err(|error| Failure::from(error).text())?;
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
