//! Example policies, and lists of a plugin's capabilities, and exactly what they compile to: the Plan, the bubblewrap command line and the
//! page that a person reads. `STOCKADE_UPDATE_GOLDEN=1` writes the files anew.
//!
//! A policy's first line can choose the made-up host: `# host: user root project=… cwd=… no-home`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fake_host::{FakeHost, invocation};
use plan::{HostIds, Identity, IdentityMap, Plan, Summary};
use stockade_policy::{Cage, HostFacts, Invocation, Policy, capabilities, compile, text};

fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compiler/examples")
}

fn policies() -> Vec<PathBuf> {
    let entries = fs::read_dir(golden_directory()).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|extension| extension == "toml" || extension == "capabilities")
    });
    paths.sort();
    paths
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
    policies().iter().flat_map(|path| examples_of(path)).collect()
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

/// The Plan as JSON, without the system call programs: those differ between architectures and have
/// tests of their own.
fn plan_text(plan: &Plan) -> String {
    let mut value = serde_json::to_value(plan).unwrap();
    let seccomp = value.get_mut("seccomp").unwrap().as_object_mut().unwrap();
    seccomp.retain(|name, _| name == "profile");
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
}

/// One argument per line, then what is read from file descriptors.
fn bwrap_text(plan: &Plan) -> String {
    let command = plan::render::bwrap(plan, 10);
    let mut text = String::new();
    for argument in &command.argv {
        let argument = argument.to_string().replace('\n', "\\n");
        let separator = if argument.starts_with("--") && !text.is_empty() { "\n" } else { " " };
        text.push_str(if text.is_empty() { "" } else { separator });
        text.push_str(&argument);
    }
    for (descriptor, contents) in &command.data {
        if *descriptor != command.seccomp_fd {
            text.push_str(&format!("\n\nfd {descriptor}:\n{contents}"));
        }
    }
    text.push_str("\n\nnot done by bubblewrap:\n");
    for gap in plan::render::bwrap_gaps(plan) {
        text.push_str(&format!("- {gap}\n"));
    }
    text
}

fn page_text(plan: &Plan) -> String {
    let page = plan::render::person(plan);
    let hash = plan.hash();
    page.replace(hash.as_str(), "(hash)")
}

/// K207, K208, K1, K24, K25, K26, K27, K33, K34, K35, K36, K39, K40, K41, K42, K43, K44, K57, K210, K221
#[test]
fn examples_compile_to_exactly_this() {
    let update = std::env::var_os("STOCKADE_UPDATE_GOLDEN").is_some();
    let mut differences = Vec::new();
    let examples = examples();
    for example in &examples {
        let plan = example.compile(&invocation());
        let renderings = [
            ("plan.json", plan_text(&plan)),
            ("bwrap.txt", bwrap_text(&plan)),
            ("check.txt", page_text(&plan)),
        ];
        for (extension, text) in renderings {
            let file = golden_directory().join(format!("{}.{extension}", example.name));
            if update {
                fs::write(&file, &text).unwrap();
            } else if fs::read_to_string(&file).ok().as_deref() != Some(text.as_str()) {
                differences.push(format!("{}\n{text}", file.display()));
            }
        }
    }
    assert!(examples.len() >= 20, "only {} examples", examples.len());
    assert!(
        differences.is_empty(),
        "{} files differ; look at the change, then set STOCKADE_UPDATE_GOLDEN=1\n{}",
        differences.len(),
        differences.join("\n")
    );
}

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
            assert_eq!(started_as(plan, &first), first, "{}", example.name);
        }
    }
}

/// A Plan with all that belongs to one start taken from another; what is left is what the hash is
/// made of, and compares faster.
fn started_as(plan: Plan, other: &Plan) -> Plan {
    Plan {
        invocation: other.invocation.clone(),
        identity: Identity {
            hostname: other.identity.hostname.clone(),
            map: match plan.identity.map {
                IdentityMap::Unowned(_) => other.identity.map,
                caller @ IdentityMap::Caller(_) => caller,
            },
            ..plan.identity
        },
        summary: Summary { line: other.summary.line.clone(), ..plan.summary },
        ..plan
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
