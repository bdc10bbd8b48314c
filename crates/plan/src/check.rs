//! The invariants that enforcers rely on and do not check again. Looks at the Plan alone; whether
//! the host is as the Plan says is for `resolve` before it and `verify` after it.

mod network;
mod tree;

#[cfg(test)]
mod tests;

use crate::{
    Access, Bind, BindPurpose, ByteString, FileKind, GuestPath, INSIDE_PROGRAM, IdentityMap,
    MOST_SERVED, Mapping, MountOp, Overlay, Plan, SCRATCH, Served, ServedFrom, ServedLayers,
    Source, SourceIndex, TmpfsPurpose,
};

/// What is wrong with a Plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanDefect {
    /// A name with characters or a length that an enforcer could trip over.
    #[error("the {field} `{}` is not one", .text.escape_debug())]
    Name {
        /// Which field.
        field: &'static str,
        /// What it says.
        text: String,
    },
    /// A user or group id of 0.
    #[error("the {field} is 0")]
    RootId {
        /// Which field.
        field: &'static str,
    },
    /// A number outside its range.
    #[error("the {field} is {value}, outside its range")]
    Range {
        /// Which field.
        field: &'static str,
        /// What it says.
        value: u64,
    },
    /// No program to start.
    #[error("there is no program to start")]
    NoProgram,
    /// A NUL byte where the kernel would end the string.
    #[error("the {field} has a NUL byte")]
    Nul {
        /// Which field.
        field: &'static str,
    },
    /// Variables out of order, twice or with an impossible name.
    #[error("the variable `{name}` is unnamed, unsorted, repeated or has `=` in its name")]
    Variable {
        /// Its name.
        name: String,
    },
    /// A mount of a host object that is not in the list.
    #[error("`{at}` refers to source {index}, which does not exist")]
    NoSuchSource {
        /// The mount.
        at: GuestPath,
        /// The index.
        index: u32,
    },
    /// A port of a loopback that cannot be served.
    #[error("port {port} of the {list} {problem}")]
    Port {
        /// Which list.
        list: &'static str,
        /// The port.
        port: u16,
        /// What is wrong.
        problem: &'static str,
    },
    /// A bind whose purpose, source, access and mapping do not go together.
    #[error("the bind at `{at}` {problem}")]
    Bind {
        /// The mount.
        at: GuestPath,
        /// What does not go together.
        problem: &'static str,
    },
    /// An operation that could not be carried out after those before it, or would undo one.
    #[error("the mount operation at `{at}` {problem}")]
    Order {
        /// The operation.
        at: GuestPath,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Plan {
    /// Checks every invariant. [`crate::decode`] has done so already.
    pub fn check(&self) -> Result<(), PlanDefect> {
        self.check_names()?;
        self.check_identity()?;
        self.check_program()?;
        self.check_numbers()?;
        network::check(&self.walls.network)?;
        for operation in &self.walls.mounts {
            self.check_operation(operation)?;
        }
        tree::check(self)
    }

    fn check_names(&self) -> Result<(), PlanDefect> {
        let letters_and = |text: &str, more: &[u8]| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
        };
        let names = [
            ("cage name", &self.walls.cage, 1..=64, b"-_".as_slice()),
            ("invocation", &self.start.invocation, 8..=64, b"".as_slice()),
            ("host name", &self.start.hostname, 1..=63, b"-".as_slice()),
            ("user name", &self.walls.identity.user, 1..=32, b"-_".as_slice()),
        ];
        for (field, text, length, more) in names {
            if !length.contains(&text.len()) || !letters_and(text, more) {
                return Err(PlanDefect::Name { field, text: text.clone() });
            }
        }
        Ok(())
    }

    fn check_identity(&self) -> Result<(), PlanDefect> {
        let host = self.host_ids();
        let ids = [
            ("user id inside", self.walls.identity.uid),
            ("group id inside", self.walls.identity.gid),
            ("user id on the host", host.uid),
            ("group id on the host", host.gid),
        ];
        for (field, id) in ids {
            match id {
                0 => return Err(PlanDefect::RootId { field }),
                // The kernel takes -1 as "no id".
                u32::MAX => {
                    return Err(PlanDefect::Range { field, value: id.into() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_program(&self) -> Result<(), PlanDefect> {
        let Some(program) = self.start.argv.first() else {
            return Err(PlanDefect::NoProgram);
        };
        if program.is_empty() {
            return Err(PlanDefect::NoProgram);
        }
        if self.start.argv.iter().any(|argument| argument.as_bytes().contains(&0)) {
            return Err(PlanDefect::Nul { field: "command line" });
        }
        let mut previous: Option<&[u8]> = None;
        for variable in &self.walls.environment {
            let name = variable.name.as_bytes();
            let unordered = previous.is_some_and(|previous| previous >= name);
            if unordered || name.is_empty() || name.contains(&b'=') || name.contains(&0) {
                return Err(PlanDefect::Variable { name: variable.name.to_string() });
            }
            if variable.value.as_bytes().contains(&0) {
                return Err(PlanDefect::Nul { field: "environment" });
            }
            previous = Some(name);
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), PlanDefect> {
        let limits = &self.walls.limits;
        let mut numbers = vec![("umask", u64::from(self.walls.umask), 0..=0o777)];
        let mut optional = |field, value: Option<u64>, range| {
            numbers.extend(value.map(|value| (field, value, range)));
        };
        optional("memory limit", limits.memory_mb, 1..=MAX_MEMORY_MB);
        optional("processor weight", limits.cpu_weight.map(u64::from), 1..=10_000);
        optional("processor limit", limits.cpu_millis.map(u64::from), 1..=u64::from(u32::MAX));
        optional("process limit", limits.pids.map(u64::from), 1..=u64::from(u32::MAX));
        optional("time limit", limits.walltime_sec, 1..=u64::MAX);
        optional("workspace limit", limits.workspace_mb, 1..=MAX_MEMORY_MB);
        for (field, value, range) in numbers {
            if !range.contains(&value) {
                return Err(PlanDefect::Range { field, value });
            }
        }
        Ok(())
    }

    fn check_operation(&self, operation: &MountOp) -> Result<(), PlanDefect> {
        let (mode, widest) = match operation {
            // The sticky bit is fine; set-user-id and set-group-id are not.
            MountOp::Directory { mode, .. } => (*mode, 0o1777),
            MountOp::File { mode, .. } | MountOp::Hosts { mode, .. } => (*mode, 0o777),
            MountOp::Tmpfs { at, mode, size, purpose, .. } => {
                if *purpose == TmpfsPurpose::Scratch && at.as_bytes() != SCRATCH.as_bytes() {
                    return Err(order(at, "is not where scratch files are"));
                }
                // To the kernel a size of 0 is no bound at all.
                let sizes = [("memory file system size", size.bytes, 4096..=MAX_TMPFS_BYTES)];
                let inodes = [("memory file system inodes", size.inodes, 1..=MAX_TMPFS_INODES)];
                for (field, value, range) in sizes.into_iter().chain(inodes) {
                    if !range.contains(&value) {
                        return Err(PlanDefect::Range { field, value });
                    }
                }
                (*mode, 0o1777)
            }
            MountOp::Symlink { at, target } => {
                if target.is_empty() || target.as_bytes().len() > 4095 {
                    return Err(order(at, "has an impossible link target"));
                }
                if target.as_bytes().contains(&0) {
                    return Err(PlanDefect::Nul { field: "link target" });
                }
                (0, 0)
            }
            MountOp::Bind(bind) => return self.check_bind(bind),
            MountOp::Overlay(overlay) => return self.check_overlay(overlay),
            MountOp::Served(served) => return self.check_served(served),
            MountOp::Mask { .. }
            | MountOp::Proc { .. }
            | MountOp::SealReadOnly { .. }
            | MountOp::MaskIfPresent { .. }
            | MountOp::Devpts { .. } => return Ok(()),
        };
        if mode & !widest != 0 {
            return Err(PlanDefect::Range { field: "permission bits", value: mode.into() });
        }
        Ok(())
    }

    fn check_bind(&self, bind: &Bind) -> Result<(), PlanDefect> {
        let Bind { source: index, at, access, mapping, purpose, .. } = bind;
        let Some(source) = self.source(*index) else {
            return Err(PlanDefect::NoSuchSource { at: at.clone(), index: index.0 });
        };
        let is_of_start = self.is_of_start(*index);
        let may_map = self.walls.identity.map == IdentityMap::Unowned;
        let writes = *access == Access::ReadWrite;
        let of_purpose = match purpose {
            BindPurpose::Grant => None,
            BindPurpose::Scratch => {
                (at.as_bytes() != SCRATCH.as_bytes()).then_some("is not where scratch files are")
            }
            BindPurpose::Home => (at != &self.walls.identity.home).then_some("is not the home"),
            BindPurpose::Device => {
                (!is_device(at.as_bytes(), source)).then_some("is not one of the fixed devices")
            }
            BindPurpose::Base | BindPurpose::Command => {
                writes.then_some("makes the base layer writable")
            }
            BindPurpose::Protected => writes.then_some("makes a protected file writable"),
            BindPurpose::Pin => (source.kind == FileKind::File).then_some("pins a file"),
        };
        let problem = if *mapping != Mapping::Plain && !may_map {
            Some("maps an owner without the privilege to")
        } else if is_of_start != matches!(purpose, BindPurpose::Scratch | BindPurpose::Home) {
            Some("has a source that is for files of the cage's own alone, or none that is")
        } else {
            of_purpose
        };
        problem.map_or(Ok(()), |problem| Err(PlanDefect::Bind { at: at.clone(), problem }))
    }

    fn check_overlay(&self, overlay: &Overlay) -> Result<(), PlanDefect> {
        let Overlay { lower, area, at, mapping, .. } = overlay;
        for index in [lower, area] {
            match self.source(*index) {
                None => return Err(PlanDefect::NoSuchSource { at: at.clone(), index: index.0 }),
                Some(Source { kind: FileKind::File, .. }) => {
                    return Err(order(at, "lays a layer over a file, or a file over something"));
                }
                Some(Source { kind: FileKind::Directory, .. }) => {}
            }
        }
        let problem =
            if *mapping != Mapping::Plain && self.walls.identity.map != IdentityMap::Unowned {
                "maps an owner without the privilege to"
            } else if self.is_of_start(*lower) || !self.is_of_start(*area) {
                "takes a layer from the host, or shows what is ours"
            } else {
                return Ok(());
            };
        Err(order(at, problem))
    }

    fn check_served(&self, served: &Served) -> Result<(), PlanDefect> {
        let Served { at, from, device, .. } = served;
        let kind = |index: &SourceIndex| match self.source(*index) {
            Some(source) => Ok(source.kind),
            None => Err(PlanDefect::NoSuchSource { at: at.clone(), index: index.0 }),
        };
        if kind(device)? != FileKind::File {
            return Err(order(at, "is served by a device that is none"));
        }
        if let ServedFrom::Store { directory, name } = from {
            let name = name.as_bytes();
            let is_name = !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/');
            if kind(directory)? != FileKind::Directory || !is_name || name.contains(&0) {
                return Err(order(at, "is served from a store that is no file in a directory"));
            }
        }
        if let ServedFrom::Inside(inside) = from {
            let shown = self.walls.mounts.iter().filter_map(MountOp::bind);
            let mut shown = shown.filter(|bind| bind.at.as_bytes() == INSIDE_PROGRAM.as_bytes());
            let is_shown = shown.any(|bind| {
                bind.purpose == BindPurpose::Command && bind.access == Access::ReadOnly
            });
            if !inside.is_plain() || !is_shown {
                return Err(order(at, "is served by a program that the cage does not show"));
            }
        }
        if let ServedFrom::Layers(layers) = from {
            self.check_layers(at, layers)?;
        }
        // Nobody answers there before the tree is finished.
        let is_inside = |other: &MountOp| other.at() != at && other.at().is_within(at);
        if self.walls.mounts.iter().any(is_inside) {
            return Err(order(at, "is served, and has something in it that is not"));
        }
        if self.walls.mounts.iter().filter_map(MountOp::served).count() > MOST_SERVED {
            return Err(order(at, "is one of too many that are served"));
        }
        Ok(())
    }

    fn check_layers(&self, at: &GuestPath, layers: &ServedLayers) -> Result<(), PlanDefect> {
        let ServedLayers { lower, area, mapping, hidden, read_only, .. } = layers;
        let as_overlay = Overlay {
            lower: *lower,
            area: *area,
            at: at.clone(),
            mapping: *mapping,
            purpose: layers.purpose,
        };
        self.check_overlay(&as_overlay)?;
        let is_plain = |path: &ByteString| {
            let mut names = path.as_bytes().split(|byte| *byte == b'/');
            !path.as_bytes().contains(&0) && names.all(|name| !matches!(name, b"" | b"." | b".."))
        };
        if hidden.iter().chain(read_only).all(is_plain) {
            Ok(())
        } else {
            Err(order(at, "hides or keeps what is no path in it"))
        }
    }

    fn is_of_start(&self, index: SourceIndex) -> bool {
        index.position() >= self.walls.sources.len()
    }
}

fn is_device(at: &[u8], source: &Source) -> bool {
    source.kind == FileKind::File
        && source.path.as_bytes() == at
        && at.strip_prefix(b"/dev/").is_some_and(|name| DEVICES.contains(&name))
}

fn order(at: &GuestPath, problem: &'static str) -> PlanDefect {
    PlanDefect::Order { at: at.clone(), problem }
}

/// All device nodes that a cage may have.
const DEVICES: [&[u8]; 6] = [b"full", b"null", b"random", b"tty", b"urandom", b"zero"];

/// 16 TiB; anything above is a mistake, and `bytes = mb << 20` stays in range.
const MAX_MEMORY_MB: u64 = 16 << 20;
/// The largest file system in memory.
pub const MAX_TMPFS_BYTES: u64 = 1 << 44;
const MAX_TMPFS_INODES: u64 = 1 << 32;
