//! The attacking program alone, for tests that have no `stockade` to ask for it: `__attack …` plays
//! a part, `twins DIRECTORY` runs every attack uncaged and prints the table. Builds no cage.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == "__attack" => attacks::child_main(rest),
        Some((first, [directory])) if first == "twins" => twins(directory.into()),
        _ => ExitCode::from(2),
    }
}

fn twins(directory: std::path::PathBuf) -> ExitCode {
    let made = std::env::current_exe().map_err(|error| error.to_string()).and_then(|executable| {
        let settings = attacks::Settings { directory, executable, profiles: Vec::new() };
        attacks::twins(&settings).map_err(|error| error.to_string())
    });
    let mut stdout = std::io::stdout();
    match made {
        Ok(report) => {
            let written = writeln!(stdout, "{report}");
            if written.is_ok() && report.all_held() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let _unheard = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}
