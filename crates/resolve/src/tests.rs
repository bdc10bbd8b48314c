//! Resolution as a whole: under attack, at scale, and on the way to a Plan. Builds no cage.

use std::os::fd::AsFd as _;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use policy::{EnvironmentRule, FsAccess, RuleOrigin, State};
use rustix::fs::{CWD, OFlags, RenameFlags};

use super::fixture::{Host, directory, file, host_path, own_rule};
use super::*;

/// T2, K32: whoever swaps a directory for a link while a path is walked never gets a path outside.
#[test]
fn swapping_a_component_never_leads_outside() {
    let host = Host::new();
    file(host.project("work/data/file"), "inside");
    file(host.outside("data/file"), "outside");
    symlink(host.outside(""), host.project("evil")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (one, other) = (host.project("work"), host.project("evil"));
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        })
    };
    let outside = rustix::fs::stat(host.outside("data/file").as_path()).unwrap().st_ino;
    let (mut inside, mut refused) = (0, 0);
    let begun = Instant::now();
    while begun.elapsed().as_millis() < 1500 {
        match host.resolve(vec![host.readable("work/data/file"), host.writable("work/data")]) {
            Ok(resolved) => {
                inside += 1;
                for position in [0, 1] {
                    let path = resolved.rule_path(position);
                    assert!(path.starts_with(host.project("")), "{}", path.display());
                }
                for (source, descriptor) in resolved.facts.sources.iter().zip(&resolved.sources) {
                    let status = rustix::fs::fstat(descriptor.as_fd()).unwrap();
                    assert_eq!(source.inode, status.st_ino);
                    assert_ne!(status.st_ino, outside);
                }
            }
            Err(ResolveError::Rules(problems)) => {
                refused += 1;
                for problem in problems {
                    assert_eq!(problem.problem, PathProblem::LeavesProject);
                }
            }
            Err(other) => panic!("{other}"),
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(inside > 0 && refused > 0, "the race was not run: {inside} inside, {refused} refused");
}

/// What this thread has used of a processor: other programs do not count.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap(), u32::try_from(now.tv_nsec).unwrap())
}

/// Start time must not grow by more than a few microseconds for each grant, and never by the square
/// of their number.
#[test]
fn a_thousand_grants_are_resolved_in_linear_time() {
    let host = Host::new();
    let rules: Vec<_> = (0..1000)
        .map(|number| {
            let name = format!("tree/{}/{number}", number % 10);
            directory(host.project(&name));
            let access = if number % 2 == 0 { FsAccess::ReadOnly } else { FsAccess::ReadWrite };
            host.rule(access, name)
        })
        .collect();
    let timed = |rules: &[policy::FsRule]| {
        let best = (0..5).map(|_| {
            let begun = processor_time();
            let resolved = host.resolve(rules.to_vec()).unwrap();
            assert_eq!(resolved.facts.rules.len(), rules.len());
            processor_time() - begun
        });
        best.min().unwrap()
    };
    let (hundred, thousand) = (timed(&rules[..100]), timed(&rules));
    // Ten times the grants may take ten times as long and some noise, in a debug build too.
    assert!(thousand < hundred * 30, "{hundred:?} for 100, {thousand:?} for 1000");
}

#[test]
fn descriptors_only_refer_and_close_on_exec() {
    let host = Host::new();
    file(host.project("file"), "");
    directory(host.project("hidden"));
    let rules = vec![host.writable(""), host.readable("file"), host.hidden("hidden")];
    let resolved = host.resolve(rules).unwrap();
    let described = resolved.facts.sources.iter();
    for (source, descriptor) in described.zip(&resolved.sources) {
        let flags = rustix::fs::fcntl_getfl(descriptor).unwrap();
        assert!(flags.contains(OFlags::PATH), "{} {flags:?}", source.path);
        let flags = rustix::io::fcntl_getfd(descriptor).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}

/// V12
#[test]
fn only_inherited_variables_are_taken_and_only_if_set() {
    let mut host = Host::new();
    host.surroundings.environment = [
        ("LANG".into(), "C.UTF-8".into()),
        ("TOKEN".into(), "secret".into()),
        ("FIXED".into(), "caller's".into()),
    ]
    .into();
    let variable = |value: Option<&str>| EnvironmentRule {
        value: value.map(ByteString::from),
        origin: RuleOrigin::BuiltIn("test"),
    };
    let env = [("LANG", None), ("UNSET", None), ("FIXED", Some("policy's"))]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), variable(value)))
        .collect();
    let policy = Policy { env, ..Policy::closed("test") };
    let resolved = resolve(&policy, &host.surroundings).unwrap();
    assert_eq!(resolved.facts.environment, [("LANG".to_owned(), ByteString::from("C.UTF-8"))]);
}

/// K38
#[test]
fn the_kept_scratch_directory_is_opened_where_the_policy_keeps_it() {
    let mut host = Host::new();
    directory(host.outside("scratch"));
    host.surroundings.kept.scratch = Some(host_path(host.outside("scratch")));
    let mut policy = Policy::closed("test");
    assert_eq!(resolve(&policy, &host.surroundings).unwrap().facts.kept.scratch, None);
    policy.state = State::Scratch;
    let resolved = resolve(&policy, &host.surroundings).unwrap();
    let scratch = resolved.facts.kept.scratch.unwrap();
    assert_eq!(scratch.path.as_path(), host.outside("scratch"));
    // T1: never through a link, which somebody else may have put there.
    symlink(host.outside("scratch"), host.outside("link")).unwrap();
    host.surroundings.kept.scratch = Some(host_path(host.outside("link")));
    assert!(matches!(resolve(&policy, &host.surroundings), Err(ResolveError::Kept { .. })));
}

/// A rule that is stricter than the read-write one above it is a place that must not be moved.
#[test]
fn directories_above_stricter_rules_are_found_once() {
    let host = Host::new();
    directory(host.project("a/b/hidden"));
    directory(host.project("a/b/other"));
    directory(host.project("a/c/d/readable/inner"));
    let rules = vec![
        host.writable(""),
        host.hidden("a/b/hidden"),
        host.hidden("a/b/other"),
        host.readable("a/c/d/readable"),
        // Below a read-only rule nothing can be renamed.
        host.hidden("a/c/d/readable/inner"),
    ];
    let resolved = host.resolve(rules).unwrap();
    let expected = ["a", "a/b", "a/c", "a/c/d"].map(|path| host.project(path));
    assert_eq!(resolved.between_paths(), expected);
}

/// T3: where nothing may be written, nothing can be renamed.
#[test]
fn read_only_grants_need_no_pins() {
    let host = Host::new();
    directory(host.project("a/b/hidden"));
    let resolved = host.resolve(vec![host.readable(""), host.hidden("a/b/hidden")]).unwrap();
    assert!(resolved.between_paths().is_empty());
    let own = own_rule(FsAccess::Hide, host.outside(""));
    let resolved = host.resolve(vec![own]).unwrap();
    assert!(resolved.between_paths().is_empty());
}

/// What is found on a real host fits the compiler, for every choice of commands and for grants of
/// every kind, and ends in a Plan whose protected files and pins are where they should be. K30
#[test]
fn what_was_found_compiles() {
    let host = Host::new();
    for path in [".git/hooks/sample", ".git/config", ".envrc", "secret/key", "data/file"] {
        file(host.project(path), "");
    }
    file(host.home(".ssh/id_rsa"), "");
    let grants = [
        vec![],
        vec![host.readable("")],
        vec![host.writable(""), host.hidden("secret"), host.readable("data")],
        vec![own_rule(FsAccess::ReadWrite, host.home("")), host.hidden("secret")],
        vec![host.readable("data/file"), own_rule(FsAccess::ReadOnly, host.home(".ssh/id_rsa"))],
    ];
    let choices = [
        Commands::Base,
        Commands::None,
        Commands::Listed(["cat".to_owned(), "ls".to_owned()].into()),
    ];
    let invocation = policy::Invocation {
        id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
        argv: vec![ByteString::from("true")],
        unowned: plan::HostIds { uid: 1_900_000_001, gid: 1_900_000_001 },
    };
    for fs in &grants {
        for commands in &choices {
            let policy =
                Policy { fs: fs.clone(), commands: commands.clone(), ..Policy::closed("test") };
            let resolved = resolve(&policy, &host.surroundings).unwrap();
            let plan = policy::compile(&policy, &resolved.facts, &invocation)
                .unwrap_or_else(|error| panic!("{commands:?} {fs:?}: {error}"));
            let binds = |wanted: plan::BindPurpose| {
                let is_wanted = move |operation: &&plan::MountOp| {
                    operation.bind().is_some_and(|bind| bind.purpose == wanted)
                };
                plan.walls.mounts.iter().filter(is_wanted).count()
            };
            assert_eq!(binds(plan::BindPurpose::Protected), resolved.facts.protected.len());
            assert_eq!(binds(plan::BindPurpose::Pin), resolved.facts.between.len());
        }
    }
}
