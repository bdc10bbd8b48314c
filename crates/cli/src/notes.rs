//! What is worth knowing before a program runs, such as a flag that does nothing. Only words for a
//! person; decides nothing.

use policy::shown::shown;

use crate::message::Messages;
use crate::prepare::Prepared;

/// Tells what there is to know about a cage that is ready.
pub(crate) fn tell(prepared: &Prepared, messages: Messages) {
    for path in &prepared.nothing_to_hide {
        messages.note(&format!("there is nothing to hide at `{}`", shown(path)));
    }
}
