//! What can have a layer above it.

use policy::{FsAccess, Policy};

use crate::error::{PathProblem, ResolveError};
use crate::fixture::{Host, host_path};

fn problem(host: &Host, access: FsAccess, relative: &str) -> Option<PathProblem> {
    match host.resolve(vec![host.rule(access, relative)]) {
        Ok(_) => None,
        Err(ResolveError::Rules(problems)) => Some(problems.into_iter().next().unwrap().problem),
        Err(other) => panic!("{other}"),
    }
}

/// A file cannot be copied on write, and neither can what somebody else owns.
#[test]
fn only_own_directories_have_layers() {
    let host = Host::new();
    std::fs::create_dir(host.project("src")).unwrap();
    std::fs::write(host.project("file"), "").unwrap();
    for access in [FsAccess::Cow, FsAccess::Cache] {
        assert_eq!(problem(&host, access, "src"), None);
        assert_eq!(problem(&host, access, "file"), Some(PathProblem::FileWithLayer));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(host.project("src"), Some(1234), None).unwrap();
            let others = PathProblem::LayerOverOthers { owner: 1234 };
            assert_eq!(problem(&host, access, "src"), Some(others));
            std::os::unix::fs::chown(host.project("src"), Some(0), None).unwrap();
        }
    }
}

/// Each layer is found by the place that it lies above, links resolved.
#[test]
fn areas_are_opened_for_what_they_lie_above() {
    let mut host = Host::new();
    for name in ["src", "cache"] {
        std::fs::create_dir(host.project(name)).unwrap();
        std::fs::create_dir(host.outside(name)).unwrap();
        let (of, area) = (host_path(host.project(name)), host_path(host.outside(name)));
        host.surroundings.kept.layers.insert(of, area);
    }
    let rules = vec![host.rule(FsAccess::Cache, "cache"), host.rule(FsAccess::Cow, "src")];
    let resolved =
        crate::resolve(&Policy { fs: rules, ..Policy::closed("test") }, &host.surroundings)
            .unwrap();
    let facts = &resolved.facts;
    assert_eq!(resolved.sources.len(), facts.sources.len() + 2);
    let layers: Vec<_> = facts
        .kept
        .layers
        .iter()
        .map(|(below, area)| {
            let below = &facts.sources[usize::try_from(below.0).unwrap()];
            (below.path.as_path().to_owned(), area.path.as_path().to_owned())
        })
        .collect();
    let of = |name: &str| (host.project(name), host.outside(name));
    assert_eq!(layers, [of("cache"), of("src")]);
    let above = facts.layer_above(facts.kept.layers[1].0).unwrap();
    assert_eq!(usize::try_from(above.0).unwrap(), facts.sources.len() + 1);
}
