//! A Plan as the exact command line of bubblewrap 0.8. What that program cannot do is named by
//! [`bwrap_gaps`]; never looks for the program or starts it.

use std::collections::HashSet;

use super::shell::for_shell;
use crate::{
    Access, ByteString, Execution, FileKind, GuestPath, HostIds, LimitsPlan, Mapping, MountOp,
    NetworkPlan, Plan, TmpfsPurpose,
};

/// A bubblewrap command line and what it reads from file descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BwrapCommand {
    /// The command line, from `bwrap` to the program's last argument.
    pub argv: Vec<ByteString>,
    /// File descriptors that must be open for reading in bubblewrap, each with what it must yield;
    /// the system call filter is among them.
    pub data: Vec<(i32, ByteString)>,
    /// The file descriptor of the system call filter.
    pub seccomp_fd: i32,
    /// Who bubblewrap must run as. It maps its own id into the cage: started as root it would act
    /// as root on every file that it shows.
    pub start_as: HostIds,
}

/// The command line for a Plan. Its file descriptors are numbered upward from `first_fd`.
pub fn bwrap(plan: &Plan, first_fd: i32) -> BwrapCommand {
    let mut command = Command::new(Descriptors::From(first_fd));
    command.namespaces(plan);
    command.mounts(plan);
    command.process(plan);
    let seccomp_fd =
        command.add_data(first_fd, plan.walls.seccomp.without_notify.to_bytes().into());
    command.add(["--seccomp", &seccomp_fd.to_string(), "--"]);
    command.argv.extend(plan.start.argv.iter().cloned());
    let start_as = plan.host_ids();
    BwrapCommand { argv: command.argv, data: command.data, seccomp_fd, start_as }
}

/// The command line as a shell takes it, one option a line.
pub fn bwrap_for_shell(plan: &Plan) -> String {
    let command = bwrap(plan, FIRST_DESCRIPTOR_OF_SHELL);
    let mut text = String::new();
    for (number, word) in command.argv.iter().enumerate() {
        let begins_option = word.as_bytes().starts_with(b"--");
        let separator = match number {
            0 => "",
            _ if begins_option => " \\\n  ",
            _ => " ",
        };
        text.push_str(separator);
        text.push_str(&for_shell(word));
    }
    text.push('\n');
    text
}

/// What a Plan asks for and bubblewrap does not do, one sentence each.
pub fn bwrap_gaps(plan: &Plan) -> Vec<String> {
    let mut gaps = vec![
        "host paths are looked up by name a second time".to_owned(),
        "refused system calls are not named to the supervisor".to_owned(),
        "the finished tree is not verified before the program starts".to_owned(),
        "memory file systems have no limit on their number of files".to_owned(),
        "the program has your own terminal, and what it writes there is not filtered".to_owned(),
        "a file that is its standard input can be opened anew for writing".to_owned(),
        "core dumps go where your own do, unless you start it with `prlimit --core=1`".to_owned(),
    ];
    let mut gap = |holds: bool, text: &str| {
        if holds {
            gaps.push(text.to_owned());
        }
    };
    let walls = &plan.walls;
    let any = |test: fn(&MountOp) -> bool| walls.mounts.iter().any(test);
    gap(!walls.landlock.rules.is_empty(), "there is no second wall around files (landlock)");
    gap(
        any(|operation| operation.bind().is_some_and(|bind| bind.mapping != Mapping::Plain)),
        "granted files keep their owner, so that those of the caller may be out of reach",
    );
    gap(
        any(|operation| {
            let is_refused = operation.execution() == Some(Execution::Refused);
            is_refused && !is_below_dev(operation.at())
        }),
        "mounts that should not run programs do",
    );
    gap(
        any(MountOp::is_optional),
        "of `/proc` only `sys`, `sysrq-trigger`, `irq` and `bus` are sealed",
    );
    if let NetworkPlan::Gatekeeper(gatekeeper) = &walls.network {
        gap(!gatekeeper.allow.is_empty(), "no network destination can be reached");
        gap(!gatekeeper.host_ports.is_empty(), "no port of the host's loopback can be reached");
        gap(!gatekeeper.publish.is_empty(), "no port is offered on the host's loopback");
    }
    gap(
        any(|operation| operation.overlay().is_some()),
        "directories with a layer above them are shown read-only",
    );
    gap(any(|operation| operation.served().is_some()), "mounts that are served show as empty");
    let of_group = LimitsPlan { workspace_mb: None, ..walls.limits };
    gap(of_group != LimitsPlan::default(), "no limit on memory, processor, processes or time");
    gaps
}

/// Whether whoever starts the command opens descriptors for it.
#[derive(Clone, Copy)]
pub(super) enum Descriptors {
    /// Upward from this number.
    From(i32),
    /// There are none: what needs one is left out.
    None,
}

pub(super) struct Command {
    pub(super) argv: Vec<ByteString>,
    data: Vec<(i32, ByteString)>,
    descriptors: Descriptors,
    /// Files that only a descriptor could bring.
    pub(super) left_out: Vec<GuestPath>,
}

impl Command {
    pub(super) fn new(descriptors: Descriptors) -> Self {
        let (argv, left_out) = (vec![ByteString::from("bwrap")], Vec::new());
        Self { argv, data: Vec::new(), descriptors, left_out }
    }

    /// The whole tree, sealed.
    pub(super) fn mounts(&mut self, plan: &Plan) {
        let mounts = &plan.walls.mounts;
        // Bubblewrap makes its mount points by itself.
        let mounted: HashSet<&GuestPath> =
            mounts.iter().filter(|operation| operation.is_mount()).map(MountOp::at).collect();
        for operation in mounts {
            if operation.is_mount() || !mounted.contains(operation.at()) {
                self.operation(plan, operation);
            }
        }
        self.seal(plan);
    }

    pub(super) fn add<const COUNT: usize>(&mut self, words: [&str; COUNT]) {
        self.argv.extend(words.map(ByteString::from));
    }

    fn add_path(&mut self, path: &GuestPath) {
        self.argv.push(path.as_bytes().to_vec().into());
    }

    /// A file descriptor from which bubblewrap reads these bytes, as a word.
    fn data(&mut self, contents: ByteString) -> Option<String> {
        match self.descriptors {
            Descriptors::From(first) => Some(self.add_data(first, contents).to_string()),
            Descriptors::None => None,
        }
    }

    fn add_data(&mut self, first: i32, contents: ByteString) -> i32 {
        let used = i32::try_from(self.data.len()).unwrap_or(i32::MAX);
        let descriptor = first.saturating_add(used);
        self.data.push((descriptor, contents));
        descriptor
    }

    fn namespaces(&mut self, plan: &Plan) {
        self.add(["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]);
        self.add(["--unshare-uts", "--unshare-cgroup", "--disable-userns"]);
        self.add(["--uid", &plan.walls.identity.uid.to_string()]);
        self.add(["--gid", &plan.walls.identity.gid.to_string()]);
        self.add(["--hostname", &plan.start.hostname]);
        self.add(["--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    }

    fn operation(&mut self, plan: &Plan, operation: &MountOp) {
        let at = operation.at();
        // `--dev` makes these by itself, and in its own way; `/dev/shm` without bounds.
        if is_below_dev(at) && operation.tmpfs_purpose().is_none() {
            return;
        }
        match operation {
            MountOp::Directory { mode, .. } => {
                self.add(["--perms", &octal(*mode), "--dir"]);
                self.add_path(at);
            }
            MountOp::File { mode, contents, .. } => self.file(at, *mode, contents.clone()),
            MountOp::Hosts { mode, contents, .. } => self.file(at, *mode, plan.hosts(contents)),
            MountOp::Symlink { target, .. } => {
                self.add(["--symlink"]);
                self.argv.push(target.clone());
                self.add_path(at);
            }
            MountOp::Bind(bind) => {
                let Some(source) = plan.source(bind.source) else {
                    return;
                };
                self.add([match bind.access {
                    Access::ReadOnly => "--ro-bind",
                    Access::ReadWrite => "--bind",
                }]);
                self.argv.push(source.path.as_bytes().to_vec().into());
                self.add_path(at);
            }
            MountOp::Overlay(overlay) => {
                let Some(source) = plan.source(overlay.lower) else {
                    return;
                };
                self.add(["--ro-bind"]);
                self.argv.push(source.path.as_bytes().to_vec().into());
                self.add_path(at);
            }
            MountOp::Served(_) => {
                self.add(["--perms", "0555", "--size", "4096", "--tmpfs"]);
                self.add_path(at);
            }
            MountOp::Tmpfs { purpose: TmpfsPurpose::Devices, .. } => self.add(["--dev", "/dev"]),
            MountOp::Tmpfs { mode, size, .. } => {
                self.add(["--perms", &octal(*mode), "--size", &size.bytes.to_string(), "--tmpfs"]);
                self.add_path(at);
            }
            MountOp::Mask { kind: FileKind::Directory, .. } => {
                self.add(["--perms", "0555", "--size", "4096", "--tmpfs"]);
                self.add_path(at);
            }
            MountOp::Mask { kind: FileKind::File, .. } => {
                match self.data(ByteString::default()) {
                    Some(data) => self.add(["--perms", "0444", "--ro-bind-data", &data]),
                    // A device where devices do not work: it cannot even be opened.
                    None => self.add(["--ro-bind", "/dev/null"]),
                }
                self.add_path(at);
            }
            MountOp::Proc { .. } => {
                self.add(["--proc"]);
                self.add_path(at);
            }
            // Bubblewrap binds from the host's tree, never from the one that it builds: a bind of
            // `/proc/sys` would show the host's. Named by `bwrap_gaps`.
            MountOp::SealReadOnly { .. } | MountOp::MaskIfPresent { .. } => {}
            MountOp::Devpts { .. } => {}
        }
    }

    fn file(&mut self, at: &GuestPath, mode: u32, contents: ByteString) {
        let Some(descriptor) = self.data(contents) else {
            return self.left_out.push(at.clone());
        };
        self.add(["--perms", &octal(mode), "--ro-bind-data", &descriptor]);
        self.add_path(at);
    }

    /// Once every mount point exists, what is read-only becomes so, the root last.
    fn seal(&mut self, plan: &Plan) {
        for operation in &plan.walls.mounts {
            let is_read_only = match operation {
                MountOp::Tmpfs { .. } => operation.access() == Some(Access::ReadOnly),
                MountOp::Served(_) => true,
                MountOp::Mask { kind, .. } => *kind == FileKind::Directory,
                MountOp::Directory { .. } | MountOp::File { .. } | MountOp::Hosts { .. } => false,
                MountOp::Symlink { .. } => false,
                MountOp::Bind(_)
                | MountOp::Overlay(_)
                | MountOp::Proc { .. }
                | MountOp::Devpts { .. } => false,
                MountOp::SealReadOnly { .. } | MountOp::MaskIfPresent { .. } => false,
            };
            if is_read_only {
                self.add(["--remount-ro"]);
                self.add_path(operation.at());
            }
        }
        self.add(["--remount-ro", "/"]);
    }

    pub(super) fn process(&mut self, plan: &Plan) {
        self.add(["--clearenv"]);
        for variable in &plan.walls.environment {
            self.add(["--setenv"]);
            self.argv.extend([variable.name.clone(), variable.value.clone()]);
        }
        self.add(["--chdir"]);
        self.add_path(&plan.walls.working_directory);
    }
}

fn is_below_dev(at: &GuestPath) -> bool {
    at.as_bytes().starts_with(b"/dev/")
}

fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// The first that a shell has to open for the rendered command.
const FIRST_DESCRIPTOR_OF_SHELL: i32 = 10;
