//! A request that `stockade wrap` or the library sealed into the command line: the whole policy of one
//! executor. No file of a project and no ceiling has a say: whoever starts this could pass flags as well.

use cage::Recording;
use cage::prepare::Caller;
use invoke::sealed::Sealed;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::selection::Selection;

/// What the request asks for, if its executor's files are what they were.
pub(super) fn select(text: &str, recording: &mut Recording) -> Result<Selection, Failure> {
    let sealed = Sealed::decode(text).map_err(|error| {
        Failure::new(Exit::Usage, error.to_string()).help("wrap the command again")
    })?;
    recording.labels.project_id = sealed.directory.to_string();
    recording.labels.subagent_name = Some(sealed.executor.clone());
    sealed.verify_files().map_err(|error| {
        let refused = advice::Failure::new(policy::Kind::NotApproved, error.to_string());
        refused.help("if you changed it, write the new digest into a manifest that has one, and wrap it again")
    })?;
    Ok(sealed.selection(&Caller::of_this_process()?)?)
}
