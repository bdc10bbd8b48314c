//! Executors that are guests: their interpreter is `stockade js` or `stockade wasm`, which stands for what runs guests beside
//! the `stockade` that builds the cage. It is shown to the executor and named in its command; nothing else changes.

use std::ffi::OsString;

use advice::guests::{show_code, started};
use cage::prepare::guest::{GuestCommand, Language};
use plan::HostPath;
use policy::{FsAccess, FsRule, Reach, RuleOrigin};

use crate::decide::Decided;
use crate::error::Failure;
use crate::options::Options;
use crate::status;

/// The command that is really started, with what its cage has to show; the same words where they are no guest.
pub(crate) fn command(
    command: &[OsString],
    decided: &mut Decided,
    options: &Options<'_>,
) -> Result<Vec<OsString>, Failure> {
    let (language, words) = match command {
        [first, second, words @ ..] if first == STOCKADE && second == "js" => {
            (Language::JavaScript, words)
        }
        [first, second, words @ ..] if first == STOCKADE && second == "wasm" => {
            (Language::Wasm, words)
        }
        _ => return Ok(command.to_vec()),
    };
    let stockade = status::program(options.stockade).map_err(Failure::unavailable)?;
    let guest = started(&stockade, Some(language), words);
    let guest = guest.map_err(|failure| Failure::Unavailable { reason: failure.text() })?;
    let Some(GuestCommand { engine, mut words, module }) = guest else {
        return Ok(command.to_vec());
    };
    let path = HostPath::new(engine.into_os_string()).map_err(Failure::unavailable)?;
    let policy = &mut decided.derived.policy;
    policy.fs.push(FsRule {
        access: FsAccess::ReadOnly,
        path,
        reach: Reach::Anywhere,
        origin: RuleOrigin::BuiltIn("what runs guests"),
    });
    if let Some(module) = module {
        show_code(&stockade, &module, &mut words, policy);
    }
    Ok(words)
}

const STOCKADE: &str = "stockade";
