//! The attacking program alone, for tests that have no `stockade` to ask for it: `__attack …` plays
//! a part, `twins DIRECTORY` runs every attack uncaged, `prove DIRECTORY STOCKADE` runs them against
//! the cages of another `stockade`; both print the table. Builds no cage.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use prove::{CommandLineCages, Profile, Report, Settings};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let word = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    match (word, words.get(1..).unwrap_or_default()) {
        ("__attack", rest) => attacks::child_main(rest),
        ("twins", [directory]) => show(
            settings(directory.into())
                .and_then(|settings| prove::twins(&settings).map_err(|error| error.to_string())),
        ),
        ("prove", [directory, stockade]) => show(settings(directory.into()).and_then(|settings| {
            let cages = CommandLineCages { executable: stockade.into() };
            prove::prove(&settings, &cages).map_err(|error| error.to_string())
        })),
        _ => ExitCode::from(2),
    }
}

fn settings(directory: PathBuf) -> Result<Settings, String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let profiles = vec![Profile::Default, Profile::Relaxed];
    Ok(Settings { directory, executable, profiles, is_interrupted: || false })
}

fn show(made: Result<Report, String>) -> ExitCode {
    match made {
        Ok(report) => {
            let written = writeln!(std::io::stdout(), "{report}");
            if written.is_ok() && report.all_held() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let _unheard = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}
