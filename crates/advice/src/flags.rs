//! Rules beside a policy file, for the caller who wrote them: what is wrong with one is a failure of
//! the command line or of the request.

use cage::Kind;
use cage::prepare::Caller;
use policy::text::{RuleError, RuleFault, Rules, WrittenRules};

use crate::failure::Failure;

pub use policy::text::absolute;

/// The rules, as this caller means them.
pub fn read(written: &WrittenRules, caller: &Caller) -> Result<Rules, Failure> {
    let (home, own_state) = (caller.home(), caller.locations.own_state());
    Ok(written.read(&caller.working_directory, home.as_ref(), &own_state)?)
}

impl From<RuleError> for Failure {
    fn from(error: RuleError) -> Self {
        let kind = match error.fault {
            RuleFault::Unreadable => Kind::Usage,
            RuleFault::Ungrantable => Kind::PolicyInvalid,
            RuleFault::TooBroad => Kind::TooBroad,
        };
        let failure = Self::new(kind, error.message);
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}
