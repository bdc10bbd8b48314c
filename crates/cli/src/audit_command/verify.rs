//! `stockade audit verify`: says whether a log is what was written.

use std::io::Read as _;
use std::path::Path;

use audit::{Expected, Head, Verified, VerifyError};
use policy::shown::shown;

use super::arguments::VerifyArguments;
use super::{place, unreadable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// The command. Succeeds only if the log is whole.
pub(super) fn verify(arguments: &VerifyArguments) -> Result<Exit, Failure> {
    let path = match &arguments.path {
        Some(path) => path.clone(),
        None => place(&arguments.place)?,
    };
    let anchor = arguments.anchor.as_deref().map(read_anchor).transpose()?;
    let expected = Expected::new(arguments.key.as_deref(), anchor)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    match audit::verify(&path, &expected) {
        Ok(verified) => {
            if arguments.json {
                print_json(&verified.to_json())?;
            } else {
                print(&describe(&verified))?;
            }
            Ok(Exit::Success)
        }
        Err(VerifyError::Broken(broken)) => {
            if arguments.json {
                print_json(&broken.to_json())?;
            } else {
                print(&format!("the log is not what was written: {}\n", shown(&broken)))?;
            }
            Ok(Exit::No)
        }
        Err(VerifyError::Unreadable(error)) => Err(unreadable(&error)),
    }
}

/// A file of one head, as `export --head` writes it.
fn read_anchor(path: &Path) -> Result<Head, Failure> {
    let failed = |why: String| {
        let path = shown(path.display());
        Failure::new(Exit::No, format!("`{path}` cannot be used as an anchor: {why}"))
            .help("`stockade audit export --head FILE` writes one")
    };
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST_ANCHOR).read_to_string(&mut text))
        .map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|_| failed("it is not an exported head".to_owned()))
}

fn describe(verified: &Verified) -> String {
    let Verified { records, files, public_key, covered, recovered, unfinished, .. } = verified;
    let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let time =
        |time: Option<audit::Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
    let (first, last) = (time(verified.first), time(verified.last));
    let begins = match verified.removed {
        0 => String::new(),
        removed => format!(", from record {} on; those before it were removed", removed + 1),
    };
    let mut text = format!(
        "the log is whole: {records} records in {files}{begins}\nfrom {first} to {last}\nsigned by {public_key}\n"
    );
    for one in &verified.removals {
        let (time, sequence, removal) = (one.time, one.sequence, &one.removal);
        text.push_str(&format!(
            "removed at {time} by the rule `{}` (record {sequence}): {removal}\n",
            shown(&removal.rule)
        ));
    }
    if !verified.left_over.is_empty() {
        let files = verified.left_over.join("`, `");
        text.push_str(&format!(
            "`{files}` belong to what was removed and are still there; the next `stockade audit prune` \
             removes them\n"
        ));
    }
    let beyond = (verified.removed + records).saturating_sub(*covered);
    text.push_str(&match beyond {
        0 => "the head covers all of them\n".to_owned(),
        _ => format!(
            "the head covers records up to {covered}; it does not vouch for the {beyond} after it, of \
             which some could have been removed or added unnoticed\n"
        ),
    });
    for one in recovered {
        text.push_str(&format!(
            "record {} sets {} bytes in `{}` apart, which a writer left that was cut short\n",
            one.sequence, one.bytes, one.file
        ));
    }
    if *unfinished > 0 {
        text.push_str(&format!(
            "{unfinished} bytes at the end are of a record that is not whole\n"
        ));
    }
    text
}

/// A head has some 400 bytes.
const LONGEST_ANCHOR: u64 = 4096;
