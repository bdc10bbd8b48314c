//! What an argument names stays in its tree, and what a capability names stays as narrow as it reads.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use policy::{NetworkSettings, Place, Policy, Reach};

use super::*;
use crate::Caller;

struct World {
    _root: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        for made in ["notes/inner", "elsewhere", "home/notes", "home/.ssh", "notes/.vscode"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        Self { _root: directory, root }
    }

    fn path(&self, below: &str) -> HostPath {
        HostPath::new(self.root.join(below).into_os_string()).unwrap()
    }

    fn prepare(
        &self,
        path: &str,
        tree: Option<&str>,
        origin: RuleOrigin,
    ) -> Result<(), PrepareError> {
        self.prepare_for(FsAccess::ReadOnly, path, tree, origin, "home")
    }

    fn write(&self, path: &str, tree: Option<&str>) -> Result<(), PrepareError> {
        self.prepare_for(FsAccess::ReadWrite, path, tree, capability(), "home")
    }

    fn prepare_for(
        &self,
        access: FsAccess,
        path: &str,
        tree: Option<&str>,
        origin: RuleOrigin,
        home: &str,
    ) -> Result<(), PrepareError> {
        let reach = Reach::Anywhere;
        let rule = FsRule { access, path: self.path(path), reach, origin };
        let project = self.path("elsewhere");
        let mut surroundings = Caller::of_this_process().unwrap().surroundings(project.clone());
        surroundings.home = Some(self.path(home));
        let selection = Selection {
            policy: Policy { fs: vec![rule], ..Policy::closed("confined") },
            agent_command: Vec::new(),
            agent: None,
            place: Place { project, home: None, own_state: Vec::new() },
            surroundings,
            ceiling: None,
            confined: tree
                .map(|tree| Confined { path: self.path(path), root: self.path(tree) })
                .into_iter()
                .collect(),
            network: NetworkSettings::default(),
        };
        crate::prepare(&selection, &["true".into()]).map(drop)
    }

    fn link(&self, target: &str, name: &str) {
        symlink(Path::new(&self.root.join(target)), self.root.join(name)).unwrap();
    }
}

fn capability() -> RuleOrigin {
    RuleOrigin::Capability("fs:read".to_owned())
}

/// T61: a link inside the tree that an argument may name leads nowhere else, and the tree is no link.
#[test]
fn a_link_does_not_lead_out_of_the_tree() {
    let world = World::new();
    world.link("elsewhere", "notes/out");
    world.link("notes/inner", "notes/in");
    world.link("notes", "alias");
    let check = |path: &str, tree: &str| world.prepare(path, Some(tree), capability());
    check("notes/inner", "notes").unwrap();
    check("notes/in", "notes").unwrap();
    for (path, tree) in [("notes/out", "notes"), ("alias/inner", "alias")] {
        let refused = check(path, tree).unwrap_err();
        assert!(matches!(refused, PrepareError::LeadsOut { .. }), "{refused}");
        // The value of an argument is told nowhere.
        assert!(!refused.to_string().contains(path), "{refused}");
    }
}

/// T61, M37: a manifest's path is where it says: no link is followed but those to the home.
#[test]
fn a_capability_goes_through_no_link() {
    let world = World::new();
    world.link("elsewhere", "notes/out");
    world.link("notes", "alias");
    world.link("home", "house");
    for path in ["notes/out", "alias", "alias/inner"] {
        let refused = world.prepare(path, None, capability()).unwrap_err();
        assert!(matches!(refused, PrepareError::ThroughLink { .. }), "{path}: {refused}");
        // Who names a path by a flag may name any.
        world.prepare(path, None, RuleOrigin::Flag("--ro".to_owned())).unwrap();
    }
    let at_home =
        |path: &str| world.prepare_for(FsAccess::ReadOnly, path, None, capability(), "house");
    at_home("house/notes").unwrap();
    at_home("home/notes").unwrap();
    world.link("elsewhere", "home/out");
    assert!(matches!(at_home("house/out"), Err(PrepareError::ThroughLink { .. })));
    assert!(matches!(
        world.prepare("house/notes", None, capability()),
        Err(PrepareError::ThroughLink { .. })
    ));
}

/// M27, M37: what an argument names does not become broad, the code or what the host runs, through a link.
#[test]
fn a_link_does_not_lead_to_what_has_to_be_named() {
    let world = World::new();
    world.link("home/.ssh", "home/notes/keys");
    world.link("notes/.vscode", "notes/editor");
    let leads_to = |outcome: Result<(), PrepareError>, what: &str| {
        let refused = outcome.unwrap_err();
        assert!(matches!(refused, PrepareError::LeadsTo { .. }), "{refused}");
        assert!(refused.to_string().contains(what), "{refused}");
    };
    leads_to(world.prepare("home/notes/keys", Some("home"), capability()), "a secret");
    leads_to(world.write("notes/editor", Some("notes")), "runs code");
    world.prepare("notes/editor", Some("notes"), capability()).unwrap();
    world.write("notes/.vscode", None).unwrap();
    // The code's directory, in any way.
    std::fs::create_dir(world.root.join("elsewhere/data")).unwrap();
    world.link("elsewhere", "code");
    leads_to(world.write("elsewhere/data", None), "own code");
    let refused = world.write("code/data", Some("code"));
    assert!(matches!(refused, Err(PrepareError::LeadsOut { .. })));
    world.prepare("elsewhere/data", None, capability()).unwrap();
}
