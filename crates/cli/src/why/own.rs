//! `stockade why --self`, inside a cage: what this very cage has refused so far. Reads the list that pid 1 keeps for
//! the program and nothing else; knows no policy.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use jail::Refused;
use plan::DENIALS;
use policy::shown::shown;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// The command. Its exit status tells whether something was refused.
pub(super) fn why(subject: Option<&Path>, json: bool) -> Result<Exit, Failure> {
    let refused = read(subject)?;
    if json {
        let data = serde_json::to_value(&refused).unwrap_or_default();
        print_json(&data)?;
    } else {
        let mut text: String = refused.iter().map(line).collect();
        if refused.is_empty() {
            text.push_str(match subject {
                Some(_) => "nothing of that was refused so far\n",
                None => "nothing was refused so far\n",
            });
        }
        print(&text)?;
    }
    Ok(if refused.is_empty() { Exit::Success } else { Exit::No })
}

fn read(subject: Option<&Path>) -> Result<Vec<Refused>, Failure> {
    let file = std::fs::File::open(DENIALS).map_err(|error| {
        Failure::new(Exit::Usage, format!("`{DENIALS}` cannot be read: {error}"))
            .help("only a cage has that file; outside, `stockade why PATH` asks a policy")
    })?;
    let lines = BufReader::new(file.take(LONGEST_LIST)).lines().map_while(Result::ok);
    let all = lines.filter_map(|line| serde_json::from_str::<Refused>(&line).ok());
    Ok(all.filter(|refused| subject.is_none_or(|subject| is_about(refused, subject))).collect())
}

/// A path is meant with all that lies below it, a host with all of its ports.
fn is_about(refused: &Refused, subject: &Path) -> bool {
    let absolute = std::path::absolute(subject).unwrap_or_else(|_| subject.to_owned());
    let host = subject.to_str().is_some_and(|text| {
        let rest = refused.subject.strip_prefix(text);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    host || Path::new(&refused.subject).starts_with(&absolute)
}

fn line(refused: &Refused) -> String {
    let Refused { subject, because, flag, .. } = refused;
    let asks = match flag {
        Some(flag) => format!("; ask your user to add `{}`", shown(flag)),
        None => String::new(),
    };
    format!("`{}` was refused: {}{asks}\n", shown(subject), shown(because))
}

const LONGEST_LIST: u64 = 1 << 20;
