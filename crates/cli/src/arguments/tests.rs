//! Tests of the command line itself, and of the manual that describes it.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::Parser as _;

use super::{Arguments, Command};
use crate::exit::{EXIT_CODES, Exit};

mod counterparts;

const MANUAL: &str =
    concat!(include_str!("../../../../docs/cli.md"), include_str!("../../../../docs/daemon.md"));

/// Mistakes in the definition that are only found when a command is used.
#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
}

/// A `run` that is read by itself means what it means among all commands.
#[test]
fn a_run_is_read_alone_as_among_others() {
    for line in [
        "run -- true",
        "run true --version",
        "run --ro a --rw=b --hide c --color never -- sh -c x",
        "run --json=f -q --no-net -- x -q --color always",
        "run",
        "run --help",
        "run --version",
        "run --nonsense",
        "run --time",
    ] {
        let words: Vec<OsString> =
            ["stockade"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
        let (alone, among) = (Arguments::read(&words), Arguments::read_among_others(&words));
        let told = |error: clap::Error| error.to_string();
        assert_eq!(
            alone.map(|read| format!("{read:?}")).map_err(told),
            among.map(|read| format!("{read:?}")).map_err(told),
            "{line}"
        );
    }
}

/// Every command and flag is in the manual.
#[test]
fn the_manual_is_complete() {
    let all = Arguments::command();
    let with_inner =
        |command| std::iter::once(command).chain(clap::Command::get_subcommands(command));
    for command in all.get_subcommands().flat_map(with_inner) {
        let name = command.get_name();
        let named = [format!("`{name}"), format!(" {name}`"), format!(" {name} [")];
        let is_named = named.iter().any(|name| MANUAL.contains(name));
        assert!(is_named || MANUAL.contains(&format!(" {name} ")), "the manual lacks `{name}`");
        let shown = command.get_arguments().filter(|flag| !flag.is_hide_set());
        for flag in shown.filter_map(clap::Arg::get_long) {
            assert!(MANUAL.contains(&format!("--{flag}")), "the manual lacks `{name} --{flag}`");
        }
    }
}

/// The words of a line as a shell reads it: what stands in quotes is one.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split(' ').filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
    words
}

/// Every example is a command line that is read, of the command whose help it stands in; and `run` ends with its own.
#[test]
fn examples_are_command_lines() {
    for (path, examples) in super::examples::EXAMPLES {
        for line in examples.lines() {
            let line = line.trim().split("  ").next().unwrap();
            let words = words_of(line);
            assert_eq!(words[1..=path.len()], **path, "{line}");
            let words = advice::guests::spelled_out(words.iter().map(OsString::from).collect());
            Arguments::try_parse_from(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
    let mut described = super::examples::described();
    for (path, examples) in super::examples::EXAMPLES {
        let mut command = &mut described;
        for word in *path {
            command = command.find_subcommand_mut(word).unwrap();
        }
        let help = command.render_long_help().to_string();
        assert!(help.contains(examples.lines().next().unwrap().trim()), "{help}");
    }
}

/// A flag of `run` stands below a heading with others of its kind.
#[test]
fn the_help_of_run_is_in_groups() {
    let mut described = super::examples::described();
    let help = described.find_subcommand_mut("run").unwrap().render_long_help().to_string();
    let group = |flag: &str| {
        let at = help.find(&format!("--{flag}")).unwrap_or_else(|| panic!("no --{flag}"));
        help[..at].lines().rfind(|line| line.ends_with(':') && !line.starts_with(' ')).unwrap()
    };
    for (flag, heading) in [
        ("cage <", "Cage:"),
        ("backend", "Cage:"),
        ("no-sandbox", "Cage:"),
        ("rw <", "Files:"),
        ("hide", "Files:"),
        ("env", "Program:"),
        ("session", "Program:"),
        ("detach", "Program:"),
        ("memory", "Limits:"),
        ("tmp-size", "Limits:"),
        ("degraded-limits", "Limits:"),
        ("net <", "Network:"),
        ("json", "Output:"),
        ("quiet", "Output:"),
    ] {
        assert_eq!(group(flag), heading, "{flag}");
    }
}

/// Every exit code is in the help and in the manual.
#[test]
fn exit_codes_are_documented() {
    let codes = [
        Exit::No,
        Exit::Usage,
        Exit::CannotBuild,
        Exit::BadPolicy,
        Exit::Refused,
        Exit::NotExecutable,
        Exit::NotFound,
    ];
    for code in codes.map(Exit::number) {
        assert!(EXIT_CODES.contains(&format!("\n  {code} ")), "the help lacks {code}");
        assert!(MANUAL.contains(&format!("\n| {code} |")), "the manual lacks {code}");
    }
}

/// What belongs to the program is never read as a flag of ours.
#[test]
fn the_programs_own_flags_are_left_alone() {
    let table: [&[&str]; 3] = [
        &["stockade", "run", "--", "ls", "--help", "--rw", "x"],
        &["stockade", "run", "ls", "--help", "--rw", "x"],
        &["stockade", "run", "--quiet", "ls", "--help", "--rw", "x"],
    ];
    for words in table {
        let Command::Run(run) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("{words:?}");
        };
        assert_eq!(run.command, ["ls", "--help", "--rw", "x"], "{words:?}");
        assert!(run.files.rw.is_empty(), "{words:?}");
    }
    assert!(Arguments::try_parse_from(["stockade", "run", "--nonsense", "ls"]).is_err());
}

/// An empty word is the beginning of every id, and nobody means every cage by it.
#[test]
fn no_cage_is_named_by_an_empty_word() {
    for command in ["kill", "logs", "attach"] {
        assert!(Arguments::try_parse_from(["stockade", command, ""]).is_err(), "{command}");
        assert!(Arguments::try_parse_from(["stockade", command, "a"]).is_ok(), "{command}");
    }
}
