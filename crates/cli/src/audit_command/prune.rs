//! `stockade audit prune`: removes the oldest files of the log, as far as rules say.

use audit::{Log, PruneError, Pruned};
use serde_json::json;

use super::arguments::PruneArguments;
use super::{own_log, unreadable};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::output::{print, print_json};

/// The command.
pub(super) fn prune(arguments: &PruneArguments) -> Result<Exit, Failure> {
    let directory = match &arguments.log {
        Some(path) => path.clone(),
        None => own_log()?,
    };
    let rules = arguments.retention.rules();
    if !rules.is_any() {
        return Err(Failure::new(Exit::Usage, "no rule says what to keep")
            .help("give `--keep-days DAYS`, `--keep-size SIZE` or both"));
    }
    // Looked at first, because opening a log to write makes its directory.
    let mut pruned = rules.plan(&directory).map_err(|error| not_pruned(&error))?;
    if !arguments.dry_run {
        let log = Log::open(&directory).map_err(|error| unreadable(&error))?;
        pruned = log.prune(&rules).map_err(|error| not_pruned(&error))?;
    }
    if arguments.json {
        print_json(&json!({
            "removal": pruned.removal.as_ref().map(audit::Removal::to_json),
            "files": pruned.files,
            "bytes": pruned.bytes,
            "dry_run": arguments.dry_run,
        }))?;
    } else {
        print(&describe(&pruned, arguments.dry_run))?;
    }
    Ok(Exit::Success)
}

fn describe(pruned: &Pruned, is_dry_run: bool) -> String {
    let Pruned { removal, files, bytes } = pruned;
    let what = match removal {
        None => "nothing is to be removed".to_owned(),
        Some(removal) if is_dry_run => format!("would remove {removal} ({})", removal.rule),
        Some(removal) => format!("removed {removal} ({})", removal.rule),
    };
    let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("{what}\n{files} with {bytes} bytes stay\n")
}

fn not_pruned(error: &PruneError) -> Failure {
    let failure = Failure::new(Exit::No, with_causes(error));
    match error {
        PruneError::NotVerified(audit::VerifyError::Broken(_)) => {
            failure.help("removing files would cover up what was done to it; see `docs/audit.md`")
        }
        PruneError::NotVerified(audit::VerifyError::Unreadable(_)) | PruneError::Log(_) => failure,
    }
}
