//! Tests of the command line itself, and of the manual that describes it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use clap::CommandFactory as _;
use clap::Parser as _;

use super::{Arguments, Command, plain_run};
use crate::exit::{EXIT_CODES, Exit};

mod counterparts;

const MANUAL: &str =
    concat!(include_str!("../../../../docs/cli.md"), include_str!("../../../../docs/daemon.md"));

/// Mistakes in the definition that are only found when a command is used.
#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
}

/// Lines that are plain, so that nobody waits for the parser.
#[test]
fn plain_runs_are_read_without_the_parser() {
    for line in [
        "run -- true",
        "run true --version",
        "run --ro a --rw=b --hide c -- sh -c x",
        "run --json=f -q -- x -q --color always",
        "run --json --no-net --degraded-limits -- x",
        "run --env A=1 --env=B=2 --seccomp relaxed --state scratch x",
        "run --cage n --project /p --session s",
        "run --memory 1G --pids 9 --cpus 1.5 --time 9s --backend bwrap x",
        "run --net a --host-port 1 --publish 2 --command sh x -- y",
        "run",
    ] {
        let words = words(line);
        assert!(plain_run::read(words.get(2..).unwrap_or_default()).is_some(), "{line}");
        assert_alike(&words);
    }
}

/// However words are put together, they mean what the parser says.
#[test]
fn plain_runs_mean_what_the_parser_says() {
    // One after the other, by a sequence that is the same in every run: xorshift.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % most as u64).unwrap()
    };
    let mut plain = 0;
    for _ in 0..2_000 {
        let mut line = vec![OsString::from("stockade"), OsString::from("run")];
        for _ in 0..next(7) {
            line.push(VOCABULARY[next(VOCABULARY.len())].into());
        }
        plain += usize::from(plain_run::read(&line[2..]).is_some());
        assert_alike(&line);
    }
    assert!(plain > 200, "{plain}");
    let unreadable = OsString::from_vec(vec![b'a', 0xff]);
    for flag in ["--ro", "--env", "--cage", "--net", "--seccomp", "--"] {
        let line = ["stockade", "run", flag].map(OsString::from);
        assert_alike(&[line.as_slice(), std::slice::from_ref(&unreadable)].concat());
    }
}

const VOCABULARY: &[&str] = &[
    "--ro",
    "--ro=a",
    "--rw",
    "--hide=",
    "--hide",
    "--env",
    "--env=A=1",
    "--command",
    "--commands",
    "--net",
    "--net=h",
    "--no-net",
    "--host-port",
    "--publish",
    "--project",
    "--cage",
    "--agent",
    "--capability",
    "--session",
    "--memory",
    "--pids",
    "--cpus",
    "--time",
    "--time=9s",
    "--seccomp",
    "--seccomp=default",
    "--state",
    "--backend",
    "--backend=bwrap",
    "--no-sandbox",
    "--json",
    "--json=",
    "--json=f",
    "--quiet",
    "--quiet=true",
    "-q",
    "-qq",
    "-x",
    "--color",
    "--help",
    "--",
    "--",
    "-",
    "",
    "a",
    "b=c",
    "default",
    "relaxed",
    "scratch",
    "native",
    "bwrap",
    "base",
    "--nonsense",
    "--degraded-limits",
    "1",
    "sh",
    "--r",
    "---",
    "true",
];

fn words(line: &str) -> Vec<OsString> {
    std::iter::once("stockade").chain(line.split(' ')).map(OsString::from).collect()
}

fn assert_alike(words: &[OsString]) {
    let (short, whole) = (Arguments::read(words), Arguments::try_parse_from(words));
    assert_eq!(
        short.map(|read| format!("{read:?}")).map_err(|error| error.to_string()),
        whole.map(|read| format!("{read:?}")).map_err(|error| error.to_string()),
        "{words:?}"
    );
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
        for flag in command.get_arguments().filter_map(clap::Arg::get_long) {
            assert!(MANUAL.contains(&format!("--{flag}")), "the manual lacks `{name} --{flag}`");
        }
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
