//! `stockade check`: the compiled cage, without running anything in it.

use std::ffi::OsString;

use limits::{Degraded, Limiter, LimitsError};
use plan::Plan;

use crate::arguments::{CheckArguments, CheckFormat};
use crate::egress::{self, Egress};
use crate::executors;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::selection::{FlagArguments, select};
use crate::session;
use cage::prepare::prepare;
use cage::state::Locations;

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
    harness::refuse_unknown(&selection.policy, &Locations::of_this_process())?;
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
    for warning in harness::warnings(&selection) {
        messages.warning(&warning);
    }
    let plan = prepared.plan;
    tell_limits(&plan, messages);
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

/// Says that a run with these limits would be refused here, which the compiled cage does not show.
pub(crate) fn tell_limits(plan: &Plan, messages: Messages) {
    let limiter = Limiter::discover();
    // The group is made as for a run, and removed as it is dropped.
    match limiter.prepare(&plan.walls.limits, &plan.start.invocation, Degraded::Refuse) {
        Ok(_group) => {}
        Err(LimitsError::Unusable { fix, why, .. }) => {
            messages.warning(&format!("a program with these limits is not started here: {why}"));
            messages.help(&fix);
            messages.help("`stockade run --degraded-limits` starts it with what can be held");
        }
        Err(error) => {
            let why = with_causes(&error);
            messages.warning(&format!("a program with these limits is not started here: {why}"));
        }
    }
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
