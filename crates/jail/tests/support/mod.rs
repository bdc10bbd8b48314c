//! Small Plans made by hand, so that the launcher is tested without the policy compiler.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use plan::seccomp::{Profile, SeccompPlan, Watch};
use plan::{
    Access, Bind, BindPurpose, ByteString, EnvironmentVariable, Execution, FileKind, GuestPath,
    HostIds, HostPath, Identity, IdentityMap, LandlockPlan, LandlockRule, LimitsPlan, Mapping,
    MountOp, NetworkPlan, PLAN_VERSION, Plan, Source, SourceIndex, Start, TmpfsPurpose, TmpfsSize,
    Walls,
};

/// A Plan and the descriptors of its sources.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) sources: Vec<OwnedFd>,
}

pub(crate) fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).unwrap()
}

impl Prepared {
    /// `/usr`, `/proc`, a small `/dev` and `/tmp`, and a program.
    pub(crate) fn new(argv: &[&str]) -> Self {
        let uid = rustix::process::getuid().as_raw();
        let gid = rustix::process::getgid().as_raw();
        let map =
            if uid == 0 { IdentityMap::Unowned } else { IdentityMap::Caller(HostIds { uid, gid }) };
        let walls = Walls {
            cage: "test".to_owned(),
            identity: Identity {
                uid: 1000,
                gid: 1000,
                user: "agent".to_owned(),
                home: guest("/tmp"),
                map,
            },
            sources: Vec::new(),
            mounts: Vec::new(),
            network: NetworkPlan::Loopback,
            seccomp: SeccompPlan::native(Profile::Default),
            landlock: LandlockPlan {
                rules: vec![
                    LandlockRule { at: guest("/"), access: Access::ReadOnly },
                    LandlockRule { at: guest("/dev"), access: Access::ReadWrite },
                    LandlockRule { at: guest("/tmp"), access: Access::ReadWrite },
                ],
            },
            limits: LimitsPlan::default(),
            environment: vec![EnvironmentVariable {
                name: "PATH".into(),
                value: "/usr/bin:/bin".into(),
            }],
            working_directory: guest("/"),
            umask: 0o022,
            must_exist: vec![guest("/usr")],
            must_not_exist: vec![guest("/etc/shadow")],
            watched: Vec::new(),
            reduced_isolation: Vec::new(),
        };
        let start = Start {
            invocation: "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
            hostname: "stockade-test".to_owned(),
            unowned: HostIds { uid: 1_900_000_123, gid: 1_900_000_123 },
            sources: Vec::new(),
            argv: argv.iter().map(|argument| ByteString::from(*argument)).collect(),
            summary: String::new(),
            watch: Watch::Nothing,
        };
        let plan = Plan { version: PLAN_VERSION, walls, start };
        let mut prepared = Self { plan, sources: Vec::new() };
        // What runs inside may be a test as well.
        if let Some(factor) = std::env::var_os(testing::SLOWNESS) {
            let (name, value) = (testing::SLOWNESS.into(), ByteString::from(factor));
            prepared.plan.walls.environment.push(EnvironmentVariable { name, value });
        }
        for directory in ["/usr", "/proc", "/dev", "/tmp"] {
            prepared.directory(directory);
        }
        prepared.bind("/usr", "/usr", Access::ReadOnly, BindPurpose::Base);
        for link in ["bin", "sbin", "lib", "lib64"] {
            if let Ok(target) = std::fs::read_link(format!("/{link}")) {
                let target = ByteString::from(target.into_os_string());
                let at = guest(&format!("/{link}"));
                prepared.plan.walls.mounts.push(MountOp::Symlink { at, target });
            }
        }
        prepared.plan.walls.mounts.push(MountOp::Proc { at: guest("/proc") });
        prepared.plan.walls.mounts.push(MountOp::SealReadOnly { at: guest("/proc/sys") });
        prepared.plan.walls.mounts.push(MountOp::MaskIfPresent { at: guest("/proc/kcore") });
        prepared.tmpfs("/dev", TmpfsPurpose::Devices);
        prepared.directory("/dev/pts");
        prepared.plan.walls.mounts.push(MountOp::File {
            at: guest("/dev/null"),
            mode: 0o666,
            contents: "".into(),
        });
        prepared.bind("/dev/null", "/dev/null", Access::ReadOnly, BindPurpose::Device);
        prepared.plan.walls.mounts.push(MountOp::Devpts { at: guest("/dev/pts") });
        prepared.tmpfs("/tmp", TmpfsPurpose::Private);
        prepared
    }

    pub(crate) fn directory(&mut self, at: &str) {
        self.plan.walls.mounts.push(MountOp::Directory { at: guest(at), mode: 0o755 });
    }

    pub(crate) fn tmpfs(&mut self, at: &str, purpose: TmpfsPurpose) {
        self.plan.walls.mounts.push(MountOp::Tmpfs {
            at: guest(at),
            mode: 0o755,
            size: TmpfsSize { bytes: 1 << 20, inodes: 1024 },
            execution: Execution::Allowed,
            purpose,
        });
    }

    /// A grant of a host directory at its own path, with its mount points.
    pub(crate) fn grant(&mut self, host: &Path, access: Access) {
        let path = host.to_str().unwrap().to_owned();
        for ancestor in guest(&path).ancestors_from_root() {
            let known = self.plan.walls.mounts.iter().any(|operation| *operation.at() == ancestor);
            if ancestor != GuestPath::root() && !known {
                self.plan.walls.mounts.push(MountOp::Directory { at: ancestor, mode: 0o755 });
            }
        }
        self.directory(&path);
        self.bind(&path, &path, access, BindPurpose::Grant);
        if access == Access::ReadWrite {
            self.plan.walls.landlock.rules.push(LandlockRule { at: guest(&path), access });
        }
    }

    pub(crate) fn bind(&mut self, host: &str, at: &str, access: Access, purpose: BindPurpose) {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(host, flags, rustix::fs::Mode::empty()).unwrap();
        let metadata = std::fs::metadata(host).unwrap();
        let owned = rustix::process::getuid().is_root() && purpose == BindPurpose::Grant;
        let mapping = if owned {
            Mapping::Owner { uid: metadata.uid(), gid: metadata.gid() }
        } else {
            Mapping::Plain
        };
        let kind = if metadata.is_dir() { FileKind::Directory } else { FileKind::File };
        let source = SourceIndex(u32::try_from(self.sources.len()).unwrap());
        self.plan.walls.sources.push(Source {
            path: HostPath::new(host).unwrap(),
            kind,
            device: metadata.dev(),
            inode: metadata.ino(),
        });
        self.sources.push(descriptor);
        let execution = Execution::Allowed;
        self.plan.walls.mounts.push(MountOp::Bind(Bind {
            source,
            at: guest(at),
            access,
            execution,
            mapping,
            purpose,
        }));
    }
}

/// What takes so long on a machine of its own; more where whoever runs the tests says that the processor
/// is emulated.
pub(crate) fn slowly(time: std::time::Duration) -> std::time::Duration {
    let factor = std::env::var("STOCKADE_TEST_SLOWNESS");
    time * factor.map_or(1, |factor| factor.parse().unwrap())
}

/// Runs tests one after the other in this very thread and speaks enough of the test harness's
/// language for `cargo test` and nextest: a cage is started by a process with a single thread, and
/// the standard harness starts one per test.
pub(crate) fn run_single_threaded(tests: &[(&str, fn())]) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ignored_only = arguments.iter().any(|argument| argument == "--ignored");
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in tests.iter().filter(|_| !ignored_only) {
            println!("{name}: test");
        }
        return;
    }
    let takes_value = ["--format", "--color", "--test-threads", "--logfile", "--skip"];
    let mut filters = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if takes_value.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            filters.push(word.clone());
        }
    }
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let wanted = |name: &str| {
        filters.is_empty()
            || filters
                .iter()
                .any(|one| if exact { name == one } else { name.contains(one.as_str()) })
    };
    let mut passed = 0;
    for (name, test) in tests.iter().filter(|(name, _)| !ignored_only && wanted(name)) {
        println!("test {name} ...");
        test();
        println!("test {name} ... ok");
        passed += 1;
    }
    let filtered = tests.len() - passed;
    println!(
        "\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; {filtered} filtered out"
    );
}
