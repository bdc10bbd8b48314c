//! `stockade agent-profile`: the agents that are built in, and the text of one. Starts nothing.

use cage::prepare::agents::AGENTS;
use cage::prepare::{Caller, PolicyFiles};

use crate::arguments::profiles::{AgentProfileArguments, AgentProfileCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::print;

/// The command.
pub(crate) fn agent_profile(arguments: &AgentProfileArguments) -> Result<Exit, Failure> {
    let caller = Caller::of_this_process()?;
    match &arguments.command {
        AgentProfileCommand::List => {
            let host = PolicyFiles::read_for_profile(&caller, None)?.host(&caller);
            let width = AGENTS.iter().map(|known| known.name.len()).max().unwrap_or_default();
            for known in AGENTS {
                let about = match known.on(&host) {
                    Ok(agent) => agent.summary,
                    Err(_) => format!("not installed; `{}` installs it", known.install),
                };
                let name = known.name;
                print(&format!("{name:width$}  {}\n", policy::shown::shown(about)))?;
            }
        }
        AgentProfileCommand::Show { name, project } => {
            let files = PolicyFiles::read_for_profile(&caller, project.as_deref())?;
            print(&files.built_in_agent(name, &caller)?.text)?;
        }
    }
    Ok(Exit::Success)
}
