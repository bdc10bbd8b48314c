//! Example policies, and lists of a plugin's capabilities, and exactly what they compile to: the Plan, the bubblewrap command line and the
//! page that a person reads. What every cage has stands in the files of `base` alone: those of the other examples are
//! what differs from them. `STOCKADE_UPDATE_GOLDEN=1` writes the files anew.
//!
//! A policy's first line can choose the made-up host: `# host: user root project=… cwd=… no-home`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fake_host::{FakeHost, invocation};
use crate::own_part;
use crate::rendered::{bwrap_text, plan_text};
use plan::{HostIds, Plan};
use stockade_policy::{Cage, HostFacts, Invocation, Policy, capabilities, compile, text};

fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compiler/examples")
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(golden_directory()).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn is_policy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml" || extension == "capabilities")
}

struct Example {
    /// The file's name, and the cage's where that is not `default`.
    name: String,
    policy: Policy,
    facts: HostFacts,
}

impl Example {
    fn compile(&self, invocation: &Invocation) -> Plan {
        compile(&self.policy, &self.facts, invocation)
            .unwrap_or_else(|error| panic!("{}: {error:?}", self.name))
    }
}

fn examples() -> Vec<Example> {
    files().iter().filter(|path| is_policy(path)).flat_map(|path| examples_of(path)).collect()
}

/// All cages of a file.
fn examples_of(path: &Path) -> Vec<Example> {
    let text = fs::read_to_string(path).unwrap();
    let mut host = FakeHost::default();
    let mut of_user = false;
    let first = text.lines().next().unwrap_or_default();
    for word in first.strip_prefix("# host:").unwrap_or_default().split_whitespace() {
        match word.split_once('=') {
            None if word == "user" => of_user = true,
            None if word == "root" => host.privileged = true,
            None if word == "no-home" => host.home = None,
            Some(("project", path)) => {
                host.project = Box::leak(path.to_owned().into_boxed_str());
                host.working_directory = path.to_owned();
            }
            Some(("home", path)) => host.home = Some(Box::leak(path.to_owned().into_boxed_str())),
            Some(("cwd", path)) => host.working_directory = path.to_owned(),
            _ => panic!("`{word}` says nothing about the host"),
        }
    }
    let place = host.place();
    let stem = path.file_stem().unwrap().to_str().unwrap();
    if path.extension().is_some_and(|extension| extension == "capabilities") {
        let words = text.lines().filter(|line| !line.starts_with('#'));
        let policy = capabilities::policy(words, &place)
            .unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        let facts = host.resolve(&policy);
        return vec![Example { name: stem.to_owned(), policy, facts }];
    }
    let parse = if of_user { text::parse_user } else { text::parse_project };
    let document = parse("stockade.toml", text.as_bytes(), &place)
        .unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
    let example = |(name, cage): (String, Cage)| match cage {
        Cage::Enabled(policy) => {
            let name = if name == "default" { stem.to_owned() } else { format!("{stem}.{name}") };
            let facts = host.resolve(&policy);
            Some(Example { name, policy, facts })
        }
        Cage::Disabled { .. } => None,
    };
    document.cages.into_iter().filter_map(example).collect()
}

fn page_text(plan: &Plan) -> String {
    let page = plan::render::person(plan);
    let hash = plan.hash();
    page.replace(hash.as_str(), "(hash)")
}

/// A page with what it says in the same words as its base under its headings alone.
fn shortened(base: &str, page: &str) -> String {
    let of_base: BTreeSet<&str> = base.trim_end().split("\n\n").collect();
    let sections = page.trim_end().split("\n\n").map(|section| match section.split_once('\n') {
        Some((heading, _)) if of_base.contains(section) => format!("{heading}\n  {AS_IN_BASE}"),
        _ => section.to_owned(),
    });
    format!("{}\n", sections.collect::<Vec<_>>().join("\n\n"))
}

/// The page that was shortened.
fn whole(base: &str, shortened: &str) -> String {
    let section_of_base = |heading: &str| {
        let mut sections = base.trim_end().split("\n\n");
        sections.find(|section| section.split_once('\n').is_some_and(|(first, _)| first == heading))
    };
    let sections =
        shortened.trim_end().split("\n\n").map(|section| match section.split_once('\n') {
            Some((heading, rest)) if rest.trim() == AS_IN_BASE => {
                section_of_base(heading).unwrap_or(section)
            }
            _ => section,
        });
    format!("{}\n", sections.collect::<Vec<_>>().join("\n\n"))
}

const AS_IN_BASE: &str = "(as in base.check.txt)";

/// How a text is written as what differs from its base, and read again.
struct Writing {
    extension: &'static str,
    shorten: fn(base: &str, text: &str) -> String,
    read: fn(base: &str, shortened: &str) -> Option<String>,
}

const LINES: fn(&'static str) -> Writing =
    |extension| Writing { extension, shorten: own_part::of, read: own_part::joined };

/// The renderings of one example, each with its file.
fn renderings(example: &Example) -> [(Writing, String); 3] {
    let plan = example.compile(&invocation());
    let page = Writing {
        extension: "check.txt",
        shorten: shortened,
        read: |base, text| Some(whole(base, text)),
    };
    [
        (LINES("plan.txt"), plan_text(&plan, &example.facts)),
        (LINES("bwrap.txt"), bwrap_text(&plan)),
        (page, page_text(&plan)),
    ]
}

/// K207, K208, K1, K24, K25, K26, K27, K33, K34, K35, K36, K39, K40, K41, K42, K43, K44, K57, K210, K221: the
/// base layer is what a cage without any rule has. Its files are whole; those of every other example are what
/// differs from it.
#[test]
fn examples_compile_to_exactly_this() {
    let update = std::env::var_os("STOCKADE_UPDATE_GOLDEN").is_some();
    let mut differences = Vec::new();
    let examples = examples();
    let base = examples.iter().find(|example| example.name == BASE).unwrap();
    let mut unknown: BTreeSet<PathBuf> = files().into_iter().collect();
    unknown.retain(|path| !is_policy(path));
    let mut check = |file: &str, kept: &dyn Fn(&str) -> Option<String>, new: &str, text: &str| {
        let file = golden_directory().join(file);
        unknown.remove(&file);
        if update {
            fs::write(&file, new).unwrap();
        }
        let stored = fs::read_to_string(&file).unwrap_or_default();
        if kept(&stored).as_deref() != Some(text) {
            differences.push(format!("{}\n{new}", file.display()));
        }
    };
    for (writing, text) in renderings(base) {
        let file = format!("{BASE}.{}", writing.extension);
        check(&file, &|stored| Some(stored.to_owned()), &text, &text);
    }
    for example in examples.iter().filter(|example| example.name != BASE) {
        for ((writing, text), (_, of_base)) in renderings(example).into_iter().zip(renderings(base))
        {
            let file = format!("{}.{}", example.name, writing.extension);
            let own = (writing.shorten)(&of_base, &text);
            check(&file, &|stored| (writing.read)(&of_base, stored), &own, &text);
        }
    }
    assert_eq!(unknown, BTreeSet::new(), "these belong to no example");
    assert!(examples.len() >= 20, "only {} examples", examples.len());
    assert!(
        differences.is_empty(),
        "{} files differ; look at the change, then set STOCKADE_UPDATE_GOLDEN=1\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// The example whose cage has the base layer and nothing else.
const BASE: &str = "base";

/// K30, K241: the same input gives the same Plan, and the hash depends on nothing that belongs to
/// one start.
#[test]
fn every_example_is_stable_over_a_thousand_compilations() {
    for example in examples() {
        let first = example.compile(&invocation());
        let hash = first.hash();
        assert_eq!(example.compile(&invocation()), first, "{}", example.name);
        for round in 0..1000_u32 {
            let ids = HostIds { uid: 1_900_000_000 + round, gid: 1_900_000_000 + round };
            let other =
                Invocation { id: format!("01JCQZ{round:020}"), unowned: ids, ..invocation() };
            let plan = example.compile(&other);
            assert_ne!(plan, first);
            if round % 50 == 0 {
                assert_eq!(plan.hash(), hash, "{}", example.name);
            }
            assert_eq!(plan.walls, first.walls, "{}", example.name);
        }
    }
}

/// K27, K210: every example survives the way over a socket.
#[test]
fn every_example_can_be_sent() {
    for example in examples() {
        let plan = example.compile(&invocation());
        let bytes = plan::encode(&plan);
        assert_eq!(plan::decode(&bytes).unwrap(), plan, "{}", example.name);
    }
}
