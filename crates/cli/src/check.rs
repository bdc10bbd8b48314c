//! `stockade check`: the compiled cage, without running anything in it.

use std::ffi::OsString;

use plan::Plan;

use crate::arguments::{CheckArguments, CheckFormat};
use crate::egress::{self, Egress};
use crate::executors;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::prepare::prepare;
use crate::selection::{FlagArguments, select};
use crate::session;

/// The command.
pub(crate) fn check(arguments: CheckArguments, messages: Messages) -> Result<Exit, Failure> {
    if let Some(manifest) = &arguments.manifest {
        return executors::check(manifest, &arguments, messages);
    }
    let flags = FlagArguments {
        files: Some(&arguments.files),
        program: Some(&arguments.program),
        network: Some(&arguments.network),
        ..FlagArguments::default()
    };
    let mut selection = select(&arguments.choice, flags, messages)?;
    let _session = session::for_a_look(&mut selection)?;
    let argv = if arguments.command.is_empty() && selection.agent_command.is_empty() {
        vec![OsString::from(PLACEHOLDER)]
    } else {
        crate::run::command(&arguments.command, &selection.agent_command)?
    };
    let prepared = prepare(&selection, &argv)?;
    for note in advice::notes::of(&prepared) {
        messages.note(&note);
    }
    let plan = prepared.plan;
    let egress = Egress::new(&selection.network, |name| std::env::var_os(name))?;
    egress::tell(&egress, &plan, messages);
    let format = if arguments.json { CheckFormat::Json } else { arguments.format };
    match format {
        CheckFormat::Person => print(&plan::render::person(&plan))?,
        CheckFormat::Json => print_json(&as_json(&plan)?)?,
        CheckFormat::Bwrap => {
            for gap in plan::render::bwrap_gaps(&plan) {
                messages.note(&format!("bubblewrap: {gap}"));
            }
            print(&plan::render::bwrap_for_shell(&plan))?;
        }
    }
    Ok(Exit::Success)
}

/// The plan and its hash.
pub(crate) fn as_json(plan: &Plan) -> Result<serde_json::Value, Failure> {
    let failed = |error: serde_json::Error| Failure::new(Exit::No, error.to_string());
    Ok(serde_json::json!({
        "hash": plan.hash().as_str(),
        "summary": plan.start.summary,
        "plan": serde_json::to_value(plan).map_err(failed)?,
    }))
}

/// Stands for a program where none is given.
const PLACEHOLDER: &str = "PROGRAM";
