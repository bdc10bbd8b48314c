//! Ordinary work on a tree of many files: `git status`, a search with `rg` and a build with `make`; on the host, in a
//! cage with a copy-on-write view of the tree, and in a mount of fuse-overlayfs, in turns. Each turn does it several times
//! in a new cage: the first time the kernel knows nothing of the view yet.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Options;
use crate::median;

/// Each kind of work, as a line for a shell.
const WORK: [(&str, &str); 3] = [
    ("git status", "git status --porcelain"),
    ("rg", "rg --no-ignore --threads 2 -c 'line 5[0-9]' . | wc -l"),
    ("make", "make -s -B -j2 -C build"),
];

/// Measures, and prints what came of it.
pub(crate) fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    for program in ["git", "rg", "make", "cc"] {
        if !is_installed(program) {
            println!("not measured: the work on a tree, for which `{program}` is missing");
            return Ok(());
        }
    }
    let place = tempfile::tempdir()?;
    let tree = place.path().join("tree");
    make_tree(&tree, options.tree)?;
    let peer = Peer::mount(&tree, place.path())?;
    let stockade = stockade()?;
    println!("\n{} files, median of {}, and its ratio to the host", options.tree, options.rounds);
    for (name, line) in WORK {
        let mut ways = vec![Way::new("host"), Way::new("cow cage")];
        ways.extend(peer.is_some().then(|| Way::new("fuse-overlayfs")));
        for _ in 0..options.rounds {
            for way in &mut ways {
                let line = repeated(line);
                let mut command = match (way.name, &peer) {
                    ("cow cage", _) => in_cage(&stockade, place.path(), &tree, &line),
                    ("fuse-overlayfs", Some(peer)) => shell(&line, &peer.merged),
                    _ => shell(&line, &tree),
                };
                way.note(&times(&mut command)?);
            }
        }
        tell(name, &mut ways);
    }
    if peer.is_none() {
        println!("fuse-overlayfs was not measured: it is missing, or cannot mount here");
    }
    Ok(())
}

/// A repository of text files, a hundred to a directory, and a program of some sources.
fn make_tree(tree: &Path, files: usize) -> Result<(), Box<dyn Error>> {
    let text: String =
        (0..60).map(|line| format!("a line of some length, line {line}\n")).collect();
    for number in 0..files {
        let directory = tree.join(format!("d{}/e{}", number / 1000, number / 100 % 10));
        if number % 100 == 0 {
            fs::create_dir_all(&directory)?;
        }
        fs::write(directory.join(format!("f{number}.txt")), format!("{number}\n{text}"))?;
    }
    let build = tree.join("build");
    fs::create_dir_all(&build)?;
    fs::write(build.join("Makefile"), MAKEFILE)?;
    for number in 0..SOURCES {
        let source = format!(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             int f{number}(int x) {{ char text[64]; snprintf(text, sizeof text, \"%d\", x); \
             return (int)strlen(text) + {number}; }}\n"
        );
        fs::write(build.join(format!("s{number}.c")), source)?;
    }
    let identity = "-c user.name=x -c user.email=x@example.org";
    let line = format!(
        "git init -q && git add -A && git {identity} commit -q -m all && echo build/x.a > .git/info/exclude && \
         echo 'build/*.o' >> .git/info/exclude"
    );
    let made = shell(&line, tree).status()?;
    if made.success() { Ok(()) } else { Err("the repository cannot be made".into()) }
}

/// A command line in a cage of the session that the other rounds had.
fn in_cage(stockade: &Path, place: &Path, tree: &Path, line: &str) -> Command {
    let mut command = Command::new(stockade);
    command.args(["run", "-q", "--session", "bench", "--cow", ".", "--", "sh", "-c", line]);
    for (name, below) in [("HOME", "home"), ("XDG_STATE_HOME", "state")] {
        command.env(name, place.join(below));
    }
    command.current_dir(tree);
    command
}

fn shell(line: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(directory);
    command
}

/// The times of one way.
struct Way {
    name: &'static str,
    first: Vec<Duration>,
    next: Vec<Duration>,
}

impl Way {
    fn new(name: &'static str) -> Self {
        Self { name, first: Vec::new(), next: Vec::new() }
    }

    fn note(&mut self, times: &[Duration]) {
        self.first.extend(times.first());
        self.next.extend(times.iter().skip(1));
    }
}

fn tell(work: &str, ways: &mut [Way]) {
    let medians: Vec<(&str, Duration, Duration)> = ways
        .iter_mut()
        .map(|way| (way.name, median(&mut way.first), median(&mut way.next)))
        .collect();
    let Some((_, first_on_host, next_on_host)) = medians.first().copied() else { return };
    let told = |time: Duration, host: Duration| {
        let ratio = time.as_secs_f64() / host.as_secs_f64();
        format!("{:7.1} ms ({ratio:.2})", time.as_secs_f64() * 1000.0)
    };
    for (way, first, next) in medians {
        println!(
            "{work:12} {way:16} first {}   then {}",
            told(first, first_on_host),
            told(next, next_on_host)
        );
    }
}

/// The line several times, with the time before and after each on standard output.
fn repeated(line: &str) -> String {
    format!(
        "date +%s%N; for n in {}; do {{ {line}; }} > /dev/null || exit 1; date +%s%N; done",
        (0..REPEATS).map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
    )
}

/// How long each of the repeats took.
fn times(command: &mut Command) -> Result<Vec<Duration>, Box<dyn Error>> {
    let ended = command.stdin(Stdio::null()).output()?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        return Err(format!("{command:?} ended with {}: {said}", ended.status).into());
    }
    let text = String::from_utf8(ended.stdout)?;
    let moments: Vec<u64> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    let pairs = moments.iter().zip(moments.iter().skip(1));
    Ok(pairs.map(|(before, after)| Duration::from_nanos(after.saturating_sub(*before))).collect())
}

/// A mount of fuse-overlayfs; dropping it removes it.
struct Peer {
    merged: PathBuf,
}

impl Peer {
    fn mount(tree: &Path, place: &Path) -> Result<Option<Self>, Box<dyn Error>> {
        let [upper, work, merged] =
            ["peer-upper", "peer-work", "peer-merged"].map(|name| place.join(name));
        for directory in [&upper, &work, &merged] {
            fs::create_dir(directory)?;
        }
        let layers = format!(
            "lowerdir={},upperdir={},workdir={}",
            tree.display(),
            upper.display(),
            work.display()
        );
        let mounted = Command::new("fuse-overlayfs").args(["-o", &layers]).arg(&merged).output();
        let is_there = mounted.is_ok_and(|ended| ended.status.success());
        Ok(is_there.then_some(Self { merged }))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for (program, flag) in [("fusermount3", "-u"), ("umount", "-l")] {
            let done = Command::new(program).arg(flag).arg(&self.merged).output();
            if done.is_ok_and(|ended| ended.status.success()) {
                return;
            }
        }
    }
}

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|ended| ended.status.success())
}

/// The binary to measure.
fn stockade() -> Result<PathBuf, Box<dyn Error>> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("stockade"));
    let path = std::env::var_os("STOCKADE_BIN").map(PathBuf::from).or_else(beside);
    path.filter(|path| path.exists()).ok_or_else(|| {
        "there is no `stockade` beside this program: `cargo build --release` first".into()
    })
}

const SOURCES: usize = 60;

/// How often a turn does its work.
const REPEATS: usize = 4;

const MAKEFILE: &str = "\
OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))
x.a: $(OBJECTS)
\trm -f $@
\tar rcs $@ $^
%.o: %.c
\tcc -O1 -c -o $@ $<
";
