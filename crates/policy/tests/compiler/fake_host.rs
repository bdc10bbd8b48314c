//! A host that exists only in memory: the same files, links and owners on every machine, and a
//! resolver that finds facts about it as `resolve` does on a real one.

use std::collections::{BTreeMap, BTreeSet};

use plan::{ByteString, FileKind, GuestPath, HostIds, HostPath, MountedFrom, Source, SourceIndex};
use stockade_policy::access::AccessMap;
use stockade_policy::facts::{
    BaseEntry, Caller, CommandFile, FoundPath, HostFacts, Kept, ResolvedRule,
};
use stockade_policy::protected::{Object, matches_inside};
use stockade_policy::secrets::hidden_paths;
use stockade_policy::{Commands, FsAccess, FsRule, Home, Invocation, Place, Policy, State};

/// Who starts cages on the made-up host, and where.
#[derive(Clone, Debug)]
pub(crate) struct FakeHost {
    pub(crate) privileged: bool,
    pub(crate) project: &'static str,
    pub(crate) working_directory: String,
    pub(crate) home: Option<&'static str>,
    /// Directories end in `/`, links have ` -> TARGET`, the rest are files.
    pub(crate) entries: Vec<String>,
}

pub(crate) const HOME: &str = "/home/dev";
pub(crate) const PROJECT: &str = "/home/dev/project";
const OWN_STATE: [&str; 2] = ["/home/dev/.config/stockade", "/home/dev/.local/state/stockade"];

impl Default for FakeHost {
    fn default() -> Self {
        Self {
            privileged: false,
            project: PROJECT,
            working_directory: PROJECT.to_owned(),
            home: Some(HOME),
            entries: ENTRIES.lines().map(|line| line.trim().to_owned()).collect(),
        }
    }
}

impl FakeHost {
    pub(crate) fn place(&self) -> Place {
        Place {
            project: host(self.project),
            home: self.home.map(host),
            own_state: OWN_STATE.map(host).to_vec(),
        }
    }

    /// What `resolve` would find; panics on what it would refuse.
    pub(crate) fn resolve(&self, policy: &Policy) -> HostFacts {
        let mut finder = Finder { host: self, sources: Vec::new(), inodes: BTreeMap::new() };
        let mut placed: Vec<FsRule> = Vec::new();
        let mut rules = Vec::new();
        for rule in &policy.fs {
            let real = self.real_path(rule.path.as_bytes());
            match real.filter(|path| self.kind(path).is_some()) {
                Some(path) => {
                    placed.push(FsRule { path: host(&path), ..rule.clone() });
                    let found = finder.found(&path, "");
                    let FoundPath { source, owner, caller_owned, .. } = found;
                    rules.push(ResolvedRule::Found { source, owner, caller_owned });
                }
                None => {
                    assert_eq!(rule.access, FsAccess::Hide, "{:?} does not exist", rule.path);
                    rules.push(ResolvedRule::NothingToHide);
                }
            }
        }
        let access = AccessMap::new(&placed);
        let secrets = self.secrets(&access);
        let protected = self.protected(&access, &secrets);
        let between = between(&placed, &access, secrets.iter().chain(&protected));
        let mut found = |paths: Vec<String>| -> Vec<FoundPath> {
            paths.iter().map(|path| finder.found(path, "")).collect()
        };
        let (secrets, protected, between) = (found(secrets), found(protected), found(between));
        let base = finder.base(&policy.commands);
        let commands = finder.commands(&policy.commands);
        let mut stores = BTreeMap::new();
        for mount in policy.mounts.values() {
            let MountedFrom::Store(path) = &mount.from else { continue };
            let directory = finder.source(&path.parent().unwrap().to_string());
            stores.insert(path.clone(), (directory, path.file_name().unwrap().to_vec().into()));
        }
        let is_served = |mount: &stockade_policy::Mount| {
            matches!(mount.from, MountedFrom::Store(_) | MountedFrom::Remote(_))
        };
        let fuse = policy.mounts.values().any(is_served).then(|| finder.source("/dev/fuse"));
        let mut kept = |name: &str| {
            finder.source(&format!("/home/dev/.local/state/stockade/{name}"));
            finder.sources.pop().unwrap()
        };
        let scratch = (policy.state == State::Scratch).then(|| kept("scratch"));
        let home = (policy.home == Home::Kept).then(|| kept("home"));
        let layered = policy.fs.iter().zip(&rules).filter(|(rule, _)| rule.access.is_layered());
        let lower = layered.filter_map(|(_, resolved)| match resolved {
            ResolvedRule::Found { source, .. } => Some(*source),
            ResolvedRule::NothingToHide | ResolvedRule::AllowedAhead { .. } => None,
        });
        let numbered = (0..).zip(lower);
        let layers =
            numbered.map(|(number, lower)| (lower, kept(&format!("area-{number}")))).collect();
        HostFacts {
            caller: Caller {
                ids: if self.privileged { ids(0) } else { ids(1001) },
                privileged: self.privileged,
                home: self.home.map(host),
            },
            rules,
            base,
            commands,
            secrets,
            protected,
            between,
            stores,
            fuse,
            inside: None,
            environment: inherited(policy),
            kept: Kept { scratch, home, layers, served: BTreeMap::new() },
            project: host(self.project),
            working_directory: host(&self.working_directory),
            umask: 0o022,
            sources: finder.sources,
        }
    }

    pub(crate) fn kind(&self, path: &str) -> Option<FileKind> {
        if self.entries.iter().any(|entry| entry.as_str() == path) {
            return Some(FileKind::File);
        }
        let directory = format!("{path}/");
        let exists = self.entries.iter().any(|entry| entry.starts_with(&directory));
        exists.then_some(FileKind::Directory)
    }

    /// Follows the links of the table.
    fn real_path(&self, path: &[u8]) -> Option<String> {
        let mut real = String::from_utf8(path.to_vec()).ok()?;
        for _ in 0..8 {
            let link = self
                .entries
                .iter()
                .filter_map(|entry| entry.split_once(" -> "))
                .find(|(name, _)| real == *name || real.starts_with(&format!("{name}/")));
            let Some((name, target)) = link else { return Some(real) };
            let rest = real[name.len()..].to_owned();
            let parent = &name[..name.rfind('/').unwrap()];
            real = if target.starts_with('/') {
                format!("{target}{rest}")
            } else {
                format!("{parent}/{target}{rest}")
            };
        }
        None
    }

    fn secrets(&self, access: &AccessMap<'_>) -> Vec<String> {
        let home = self.home.map(host);
        let hidden = hidden_paths(home.as_ref(), &OWN_STATE.map(host));
        let shown =
            |path: &HostPath| access.level(path) > FsAccess::Hide && access.exactly(path).is_none();
        let mut paths: Vec<String> = hidden
            .into_iter()
            .filter(|secret| shown(&secret.path))
            .map(|secret| secret.path.to_string())
            .filter(|path| self.kind(path).is_some())
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }

    fn protected(&self, access: &AccessMap<'_>, secrets: &[String]) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for entry in &self.entries {
            let path = entry.trim_end_matches('/');
            if path.contains(" -> ") || path.is_empty() {
                continue;
            }
            let object = if entry.ends_with('/') { Object::Directory } else { Object::File };
            let place = host(path);
            let rule = access.at(&place).filter(|rule| rule.access == FsAccess::ReadWrite);
            let named = rule.is_some_and(|rule| matches_inside(rule, &place, object).is_some());
            let policy_file = rule.is_some() && path == format!("{}/stockade.toml", self.project);
            let inside =
                |others: &[String]| others.iter().any(|other| place.is_within(&host(other)));
            if (named || policy_file) && !inside(secrets) && !inside(&paths) {
                paths.push(path.to_owned());
            }
        }
        paths.sort();
        paths
    }
}

fn between<'a>(
    placed: &[FsRule],
    access: &AccessMap<'_>,
    covered: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let stricter = placed.iter().filter(|rule| rule.access != FsAccess::ReadWrite);
    let targets = stricter.map(|rule| rule.path.clone()).chain(covered.map(|path| host(path)));
    let mut directories = BTreeSet::new();
    for target in targets {
        let Some(rule) = access.above(&target) else { continue };
        if rule.access == FsAccess::ReadWrite {
            let above = target.ancestors_from_root().into_iter();
            let strictly_between =
                above.filter(|above| above.is_within(&rule.path) && *above != rule.path);
            directories.extend(strictly_between.map(|path| path.to_string()));
        }
    }
    directories.into_iter().collect()
}

/// The caller's values of variables that a policy passes on.
fn inherited(policy: &Policy) -> Vec<(String, ByteString)> {
    let known = [("LANG", "de_DE.UTF-8"), ("TERM", "xterm-256color"), ("TZ", "Europe/Berlin")];
    let wanted = |name: &str| policy.env.get(name).is_some_and(|rule| rule.value.is_none());
    known
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, value)| ((*name).to_owned(), ByteString::from(*value)))
        .collect()
}

struct Finder<'a> {
    host: &'a FakeHost,
    sources: Vec<Source>,
    inodes: BTreeMap<String, u64>,
}

impl Finder<'_> {
    fn source(&mut self, path: &str) -> SourceIndex {
        let kind = self.host.kind(path).unwrap_or_else(|| panic!("`{path}` does not exist"));
        let next = 1000 + u64::try_from(self.inodes.len()).unwrap();
        let inode = *self.inodes.entry(path.to_owned()).or_insert(next);
        let index = SourceIndex(u32::try_from(self.sources.len()).unwrap());
        self.sources.push(Source { path: host(path), kind, device: 42, inode });
        index
    }

    fn found(&mut self, path: &str, table_entry: &'static str) -> FoundPath {
        let below = |top: &str| path == top || path.starts_with(&format!("{top}/"));
        let caller_owned = below(self.host.project) || self.host.home.is_some_and(below);
        let owner = if caller_owned { (1001, 1001) } else { (0, 0) };
        FoundPath { source: self.source(path), owner, caller_owned, table_entry }
    }

    fn base(&mut self, commands: &Commands) -> Vec<BaseEntry> {
        let mut base = Vec::new();
        let bind = |finder: &mut Self, path: &str| {
            let source = finder.source(path);
            BaseEntry::Bind { at: guest(path), source }
        };
        if *commands == Commands::Base {
            base.push(bind(self, "/usr"));
            for (at, target) in [
                ("/bin", "usr/bin"),
                ("/lib", "usr/lib"),
                ("/lib64", "usr/lib64"),
                ("/sbin", "usr/sbin"),
            ] {
                base.push(BaseEntry::Symlink { at: guest(at), target: target.into() });
            }
            base.push(bind(self, "/etc/alternatives"));
        }
        base.push(bind(self, "/etc/ssl/certs"));
        if *commands != Commands::None {
            base.push(bind(self, "/etc/ld.so.cache"));
        }
        let source = self.source("/usr/share/zoneinfo/UTC");
        base.push(BaseEntry::Bind { at: guest("/etc/localtime"), source });
        for device in ["null", "zero", "full", "random", "urandom", "tty"] {
            let path = format!("/dev/{device}");
            let source = self.source(&path);
            base.push(BaseEntry::Device { at: guest(&path), source });
        }
        base
    }

    fn commands(&mut self, commands: &Commands) -> Vec<CommandFile> {
        let Commands::Listed(names) = commands else { return Vec::new() };
        let mut files = vec![
            CommandFile::Symlink { at: guest("/bin"), target: "usr/bin".into() },
            CommandFile::Symlink { at: guest("/lib64"), target: "usr/lib64".into() },
            CommandFile::Symlink { at: guest("/usr/bin/sh"), target: "dash".into() },
        ];
        let mut paths = vec![
            "/usr/bin/dash".to_owned(),
            "/usr/lib64/ld.so".to_owned(),
            "/usr/lib/libc.so.6".to_owned(),
        ];
        paths.extend(names.iter().map(|name| format!("/usr/bin/{name}")));
        for path in paths {
            let source = self.source(&path);
            files.push(CommandFile::File { at: guest(&path), source });
        }
        files
    }
}

/// A start with a fixed id.
pub(crate) fn invocation() -> Invocation {
    Invocation {
        id: "01JCQZX8V5T3M9N4K2B7R6W1AD".to_owned(),
        argv: ["sh", "-c", "echo \"$HOME\""].map(ByteString::from).to_vec(),
        unowned: ids(1_912_345_678),
    }
}

pub(crate) fn host(path: &str) -> HostPath {
    HostPath::new(path).unwrap()
}

pub(crate) fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).unwrap()
}

fn ids(id: u32) -> HostIds {
    HostIds { uid: id, gid: id }
}

const ENTRIES: &str = "/dev/full
    /dev/fuse
    /dev/null
    /dev/random
    /dev/tty
    /dev/urandom
    /dev/zero
    /etc/alternatives/
    /etc/ld.so.cache
    /etc/nginx/nginx.conf
    /etc/passwd
    /etc/shadow
    /etc/ssl/certs/
    /home/dev/.aws/credentials
    /home/dev/.bash_history
    /home/dev/.config/stockade/config.toml
    /home/dev/.local/state/stockade/area-0/
    /home/dev/.local/state/stockade/area-1/
    /home/dev/.local/state/stockade/area-2/
    /home/dev/.local/state/stockade/home/
    /home/dev/.local/state/stockade/scratch/
    /home/dev/.ssh/id_ed25519
    /home/dev/.ssh/known_hosts
    /home/dev/link -> /srv/data/set
    /home/dev/notes/todo.md
    /home/dev/other/src/main.c
    /home/dev/project/.envrc
    /home/dev/project/.git/
    /home/dev/project/.git/HEAD
    /home/dev/project/.git/config
    /home/dev/project/.git/hooks/
    /home/dev/project/.git/hooks/pre-commit.sample
    /home/dev/project/.vscode/
    /home/dev/project/.vscode/tasks.json
    /home/dev/project/README.md
    /home/dev/project/build-tools/x
    /home/dev/project/build/debug/out.o
    /home/dev/project/deep/er/still/file
    /home/dev/project/docs/a/b/c.md
    /home/dev/project/odd, name/x
    /home/dev/project/secrets/.env
    /home/dev/project/secrets/public/key.pem
    /home/dev/project/secrets/public/private/x
    /home/dev/project/src/main.rs
    /home/dev/project/stockade.toml
    /home/dev/project/token
    /home/dev/project/vendor -> third/party
    /home/dev/project/third/party/lib.rs
    /opt/tools/bin/tool
    /root/.bashrc
    /root/work/file
    /run/docker.sock
    /scratch/big/file
    /srv/data/private/x
    /srv/data/set/rows.csv
    /tmp/work/in/file
    /usr/bin/cat
    /usr/bin/dash
    /usr/bin/ls
    /usr/lib/libc.so.6
    /usr/lib64/ld.so
    /usr/share/doc/x
    /usr/share/zoneinfo/UTC
    /usr/src/app/index.js
    /var/lib/thing/db
    /var/tmp/kept/x";
