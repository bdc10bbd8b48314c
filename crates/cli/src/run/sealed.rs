//! A request that `stockade wrap` or the library sealed into the command line: the whole policy of one
//! executor.

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
    recording.labels = sealed.labels();
    Ok(sealed.select(&Caller::of_this_process()?)?)
}
