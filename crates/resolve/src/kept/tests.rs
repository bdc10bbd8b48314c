//! What can have a layer above it.

use plan::NotByKernel;
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

/// A file cannot be copied on write. What the kernel cannot copy for this user, because somebody else owns it, is served
/// instead, and the facts say why.
#[test]
fn only_own_directories_have_layers_of_the_kernel() {
    let host = Host::new();
    std::fs::create_dir(host.project("src")).unwrap();
    std::fs::write(host.project("file"), "").unwrap();
    for access in [FsAccess::Cow, FsAccess::Cache] {
        assert_eq!(problem(&host, access, "src"), None);
        assert_eq!(problem(&host, access, "file"), Some(PathProblem::FileWithLayer));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(host.project("src"), Some(1234), None).unwrap();
            let why = NotByKernel::OtherOwner { uid: 1234 };
            match problem(&host, access, "src") {
                None => {}
                // Where there is no device to serve it by.
                Some(PathProblem::OnlyServed { why: found, .. }) => assert_eq!(found, why),
                Some(other) => panic!("{other:?}"),
            }
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

/// A directory of somebody else's is known to the compiler as one that the kernel cannot show.
#[test]
fn what_is_to_be_served_is_known() {
    if !rustix::process::geteuid().is_root() || std::fs::File::open("/dev/fuse").is_err() {
        return testing::skip("only root can give a directory away, and it needs `/dev/fuse`");
    }
    let mut host = Host::new();
    std::fs::create_dir(host.project("theirs")).unwrap();
    std::fs::create_dir(host.outside("area")).unwrap();
    std::os::unix::fs::chown(host.project("theirs"), Some(1234), None).unwrap();
    let (of, area) = (host_path(host.project("theirs")), host_path(host.outside("area")));
    host.surroundings.kept.layers.insert(of, area);
    let rules = vec![host.rule(FsAccess::Cow, "theirs")];
    let policy = Policy { fs: rules, ..Policy::closed("test") };
    let facts = crate::resolve(&policy, &host.surroundings).unwrap().facts;
    let served: Vec<NotByKernel> = facts.kept.served.values().copied().collect();
    assert_eq!(served, [NotByKernel::OtherOwner { uid: 1234 }]);
    assert!(facts.fuse.is_some());
}

/// Versions are compared by their numbers.
#[test]
fn kernels_are_told_apart_by_their_versions() {
    for (release, is_old) in [
        ("5.18.19-arch1", true),
        ("5.19.0", false),
        ("6.1.0-18-amd64", false),
        ("5.4", true),
        ("?", false),
    ] {
        assert_eq!(super::is_older(release, super::IDMAPPED_LAYERS), is_old, "{release}");
    }
}
