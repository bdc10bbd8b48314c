//! `stockade profile`: the profiles that there are, and the text of one. Starts nothing.

use cage::prepare::{Caller, PolicyFiles};

use crate::arguments::profiles::{ProfileArguments, ProfileCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::print;

/// The command.
pub(crate) fn profile(arguments: &ProfileArguments) -> Result<Exit, Failure> {
    let caller = Caller::of_this_process()?;
    match &arguments.command {
        ProfileCommand::List => {
            let names = PolicyFiles::read(&caller, None)?.profiles()?;
            let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
            for (name, about) in names {
                print(&format!("{name:width$}  {}\n", policy::shown::shown(about)))?;
            }
        }
        ProfileCommand::Show { name, project } => {
            let files = PolicyFiles::read_for_profile(&caller, project.as_deref())?;
            print(&files.built_in_profile(name, &caller)?)?;
        }
    }
    Ok(Exit::Success)
}
