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
        for made in ["notes/inner", "elsewhere", "home/notes", "home/.ssh"] {
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
        let (access, reach) = (FsAccess::ReadOnly, Reach::Anywhere);
        let rule = FsRule { access, path: self.path(path), reach, origin };
        let project = self.path("elsewhere");
        let mut surroundings = Caller::of_this_process().unwrap().surroundings(project.clone());
        surroundings.home = Some(self.path("home"));
        let selection = Selection {
            policy: Policy { fs: vec![rule], ..Policy::closed("confined") },
            agent_command: Vec::new(),
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

/// T61: a link inside the tree that an argument may name leads nowhere else.
#[test]
fn a_link_does_not_lead_out_of_the_tree() {
    let world = World::new();
    world.link("elsewhere", "notes/out");
    world.link("notes/inner", "notes/in");
    world.link("notes", "alias");
    let check = |path: &str, tree: &str| world.prepare(path, Some(tree), capability());
    check("notes/inner", "notes").unwrap();
    check("notes/in", "notes").unwrap();
    // The tree's own name may be a link.
    check("alias/inner", "alias").unwrap();
    let refused = check("notes/out", "notes").unwrap_err();
    assert!(matches!(refused, PrepareError::LeadsOut { .. }), "{refused}");
    world.prepare("notes/out", None, capability()).unwrap();
}

/// M37: what is narrow as it is written does not become broad through a link.
#[test]
fn a_link_does_not_make_a_capability_broad() {
    let world = World::new();
    world.link("home", "notes/wide");
    let refused = world.prepare("notes/wide", None, capability()).unwrap_err();
    assert!(matches!(refused, PrepareError::LeadsToBroad { .. }), "{refused}");
    world.prepare("home/notes", None, capability()).unwrap();
    world.link("home/.ssh", "notes/keys");
    let refused = world.prepare("notes/keys", None, capability()).unwrap_err();
    assert!(matches!(refused, PrepareError::LeadsToBroad { .. }), "{refused}");
    // Who names a path by a flag may name any.
    world.prepare("notes/wide", None, RuleOrigin::Flag("--ro".to_owned())).unwrap();
}
