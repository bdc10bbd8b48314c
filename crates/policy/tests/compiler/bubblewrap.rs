//! The rendered command line, run by a real bubblewrap. Where none is installed the test says so,
//! or fails if `STOCKADE_REQUIRE=all` promised one.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use plan::{ByteString, FileKind, GuestPath, HostIds, HostPath, Plan, Source, SourceIndex, render};
use stockade_policy::facts::{BaseEntry, Caller, HostFacts, Kept, ResolvedRule};
use stockade_policy::{FsAccess, FsRule, Invocation, Policy, Reach, RuleOrigin, compile};

const CALLER: u32 = 12_345;

fn host(path: &Path) -> HostPath {
    HostPath::new(path.as_os_str().to_owned()).unwrap()
}

fn add_source(sources: &mut Vec<Source>, path: &Path) -> SourceIndex {
    let real = fs::canonicalize(path).unwrap();
    let metadata = fs::metadata(&real).unwrap();
    let kind = if metadata.is_dir() { FileKind::Directory } else { FileKind::File };
    let (device, inode) = (metadata.dev(), metadata.ino());
    sources.push(Source { path: host(&real), kind, device, inode });
    SourceIndex(u32::try_from(sources.len() - 1).unwrap())
}

/// The base layer of this host, small.
fn base(sources: &mut Vec<Source>) -> Vec<BaseEntry> {
    let mut entries = Vec::new();
    for name in ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache"] {
        let path = Path::new(name);
        let at = GuestPath::new(name).unwrap();
        if let Ok(target) = fs::read_link(path) {
            let target = ByteString::from(target.into_os_string());
            entries.push(BaseEntry::Symlink { at, target });
        } else if path.exists() {
            entries.push(BaseEntry::Bind { at, source: add_source(sources, path) });
        }
    }
    for name in ["null", "zero", "full", "random", "urandom"] {
        let path = format!("/dev/{name}");
        let source = add_source(sources, Path::new(&path));
        entries.push(BaseEntry::Device { at: GuestPath::new(path).unwrap(), source });
    }
    entries
}

fn plan(project: &Path, rules: &[(FsAccess, &str)], script: &str) -> Plan {
    let mut sources = Vec::new();
    let mut fs_rules = Vec::new();
    let mut resolved = Vec::new();
    for (access, relative) in rules {
        let path = project.join(relative);
        let source = add_source(&mut sources, &path);
        resolved.push(ResolvedRule::Found { source, owner: (0, 0), caller_owned: false });
        fs_rules.push(FsRule {
            access: *access,
            path: sources.last().unwrap().path.clone(),
            reach: Reach::BeneathProject,
            origin: RuleOrigin::BuiltIn("test"),
        });
    }
    let base = base(&mut sources);
    let facts = HostFacts {
        caller: Caller {
            ids: HostIds { uid: CALLER, gid: CALLER },
            privileged: false,
            home: Some(HostPath::new("/home/somebody").unwrap()),
        },
        sources,
        rules: resolved,
        base,
        commands: Vec::new(),
        secrets: Vec::new(),
        protected: Vec::new(),
        between: Vec::new(),
        stores: std::collections::BTreeMap::new(),
        fuse: None,
        inside: None,
        environment: Vec::new(),
        kept: Kept::default(),
        project: host(project),
        working_directory: host(project),
        umask: 0o022,
    };
    let invocation = Invocation {
        id: "01JCQZX8V5T3M9N4K2B7R6W1AD".to_owned(),
        argv: ["/bin/sh", "-c", script].map(ByteString::from).to_vec(),
        unowned: HostIds { uid: 1_900_000_001, gid: 1_900_000_001 },
    };
    let policy = Policy { fs: fs_rules, ..Policy::closed("default") };
    compile(&policy, &facts, &invocation).unwrap()
}

/// Runs a Plan under bubblewrap as an unprivileged user.
fn run(plan: &Plan, directory: &Path) -> Output {
    let rendered = render::bwrap(plan, 10);
    let mut opens = String::new();
    for (descriptor, contents) in &rendered.data {
        let file = directory.join(format!("fd{descriptor}"));
        fs::write(&file, contents.as_bytes()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        opens.push_str(&format!("exec {descriptor}<{}; ", file.display()));
    }
    let shell = format!("{opens} exec \"$@\"");
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={CALLER}")).arg(format!("--regid={CALLER}"));
        command.args(["--clear-groups", "bash"]);
        command
    } else {
        Command::new("bash")
    };
    command.args(["-c", &shell, "bash"]);
    command.args(rendered.argv.iter().map(ByteString::as_os_str));
    command.env("LEAKED", "yes").output().unwrap()
}

/// K1, K33, K34, K35, K36, K39, K40, K41, K42, K44, K45, K46, K226, K229, K230, K231
#[test]
fn a_rendered_cage_runs_and_holds() {
    if !testing::has_all(&["bwrap", "bash", "setpriv"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("project");
    for name in ["src", "build", "secrets/public"] {
        fs::create_dir_all(project.join(name)).unwrap();
    }
    fs::write(project.join("src/main"), "hello\n").unwrap();
    fs::write(project.join("secrets/key"), "key\n").unwrap();
    fs::write(project.join("secrets/public/pem"), "pem\n").unwrap();
    fs::write(project.join("token"), "token\n").unwrap();
    for path in [directory.path(), &project, &project.join("build")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let rules = [
        (FsAccess::ReadOnly, "."),
        (FsAccess::ReadWrite, "build"),
        (FsAccess::Hide, "secrets"),
        (FsAccess::ReadOnly, "secrets/public"),
        (FsAccess::Hide, "token"),
    ];
    let script = "
        cat src/main secrets/public/pem; ls secrets; wc -c < token
        echo made > build/made && echo wrote-build
        echo x 2>/dev/null > src/new || echo no-src
        echo x 2>/dev/null > secrets/new || echo no-secrets
        echo x 2>/dev/null > /new || echo no-root
        echo x 2>/dev/null > /etc/new || echo no-etc
        echo x > /tmp/x && echo x > /scratch/x && echo x > $HOME/x && echo own-files
        id -u; id -un; hostname 2>/dev/null || cat /proc/sys/kernel/hostname
        echo leaked=$LEAKED; pwd
        grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t' ' '
        unshare -U true 2>/dev/null || echo no-userns
        ls / | tr '\\n' ' '; echo; ls /sys 2>/dev/null || echo no-sys
        ls /proc | grep -cE '^[0-9]+$' | grep -qE '^[1-9]$' && echo few-processes";
    let plan = plan(&project, &rules, script);
    let output = run(&plan, directory.path());
    let shown = String::from_utf8_lossy(&output.stdout);
    let expected = "hello\npem\npublic\n0\nwrote-build\nno-src\nno-secrets\nno-root\nno-etc\n\
        own-files\nUID\nagent\nstockade-01jcqzx8\nleaked=\n";
    let expected = expected.replace("UID", &plan.walls.identity.uid.to_string());
    assert!(shown.starts_with(&expected), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "CapEff: 0000000000000000",
        "CapBnd: 0000000000000000",
        "NoNewPrivs: 1",
        "Seccomp: 2",
        "no-userns",
        "no-sys",
        "few-processes",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is missing in\n{shown}");
    }
    assert!(output.status.success(), "{shown}");
    assert_eq!(fs::read_to_string(project.join("build/made")).unwrap(), "made\n");
    assert!(!project.join("src/new").exists());
}
