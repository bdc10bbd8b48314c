//! The project's own checks as one program: `cargo xtask check` is what a contributor and CI run.
//! Never changes a file of the project; fuzzing adds to its own corpora alone. Only `check` installs anything.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod check;
mod command;
mod deadline;
mod dist;
mod fuzz;
mod left_out;
mod python;
mod setup;
mod suite;
mod tidy;
mod vm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check                  format, tidy, shell scripts, clippy, dependencies, all tests, after what
                         they need was installed, where that may be done; as root the tests that
                         touch the kernel run again as another user
  tidy                   what the project asks of its own text
  test [WORD...]         all tests, or those whose crate or name has one of the words
  python [WORD...]       builds the Python package, installs it into target/python and runs its tests,
                         or those whose name has one of the words
  dist [--binary PATH]   the release as an archive with manual pages, completions and checksums, in
                         target/dist
  fuzz [--minutes N] [TARGET...]
                         all fuzz targets, or those named, for N minutes together (10)
  vm [--minutes N] [WORD...]
                         boots a Debian with systemd in a virtual machine and runs there what
                         depends on it, or the tests that have one of the words
  vm [--minutes N] -- COMMAND...
                         runs a command there, as root
  vm --bench [WORD...]   runs the benchmark of the daemon there, beside scopes of systemd
  vm --shell             opens a shell there
  walls [NAME...]        leaves out one wall after the other, in a build that is made for it, and says
                         which tests notice";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = project_root();
    let outcome = match words.as_slice() {
        ["check"] => check::run(&root),
        ["tidy"] => tidy::run(&root).map(|findings| findings == 0).map_err(command::Failure::from),
        ["test", filters @ ..] => suite::run(&root, filters).map(|totals| {
            println!("{totals}");
            totals.failed == 0
        }),
        ["python", words @ ..] => python::run(&root, words).map(|totals| {
            println!("{totals}");
            totals.failed == 0
        }),
        ["dist", options @ ..] => dist::run(&root, options),
        ["fuzz", options @ ..] => fuzz::run(&root, options),
        ["vm", options @ ..] => vm::run(&root, options),
        ["walls", names @ ..] => left_out::run(&root, names),
        // The machine's own side of it.
        ["vm-guest"] => vm::run_inside(),
        ["vm-pass", name] => vm::run_pass_inside(name),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The directory above this crate's own, which cargo knows.
fn project_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}
