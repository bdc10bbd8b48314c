//! The same cage as a bundle for `runc`: its mounts, namespaces, identity, environment and the limits
//! that the daemon is asked for. Without a system call filter and landlock, which `runc` would need
//! longer for; device files are those that `runc` makes by itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plan::{FileKind, MountOp, Plan};
use serde_json::{Value, json};

use crate::mechanisms::{MEMORY_MIB, PIDS};

/// Writes the bundle for a Plan to a directory.
pub(crate) fn write(directory: &Path, plan: &Plan) -> io::Result<()> {
    let root = directory.join("rootfs");
    fs::create_dir_all(&root)?;
    let mut bundle = Bundle { root, covered: vec!["/dev".into()], ..Bundle::default() };
    for operation in &plan.walls.mounts {
        bundle.add(plan, operation)?;
    }
    let configuration = bundle.configuration(plan);
    fs::write(directory.join("config.json"), serde_json::to_vec_pretty(&configuration)?)
}

#[derive(Default)]
struct Bundle {
    /// The tree in which everything is mounted.
    root: PathBuf,
    mounts: Vec<Value>,
    masked: Vec<String>,
    read_only: Vec<String>,
    /// Paths of memory file systems and binds: what lies below is no part of the tree.
    covered: Vec<String>,
}

impl Bundle {
    fn add(&mut self, plan: &Plan, operation: &MountOp) -> io::Result<()> {
        let at = String::from_utf8_lossy(operation.at().as_bytes()).into_owned();
        let is_covered = |above: &String| at.starts_with(&format!("{above}/"));
        let free = !self.covered.iter().any(is_covered);
        if at == "/dev" || at.starts_with("/dev/") {
            return Ok(());
        }
        let place = self.root.join(at.trim_start_matches('/'));
        match operation {
            MountOp::Directory { .. } if free => fs::create_dir_all(place),
            MountOp::File { contents, .. } if free => fs::write(place, contents.as_bytes()),
            MountOp::Hosts { contents, .. } if free => {
                fs::write(place, plan.hosts(contents).as_bytes())
            }
            MountOp::Symlink { target, .. } if free => {
                let target = String::from_utf8_lossy(target.as_bytes()).into_owned();
                std::os::unix::fs::symlink(target, place)
            }
            MountOp::Directory { .. } | MountOp::File { .. } | MountOp::Hosts { .. } => Ok(()),
            MountOp::Symlink { .. } => Ok(()),
            MountOp::Bind(bind) => {
                let source = plan.source(bind.source).ok_or(io::ErrorKind::NotFound)?;
                let options = ["rbind", "rprivate", "nosuid", "nodev", bind.access.word()];
                let path = String::from_utf8_lossy(source.path.as_bytes()).into_owned();
                self.mount(&at, "bind", &path, &options, source.kind, free)
            }
            // No policy that is measured here has one.
            MountOp::Overlay(_) | MountOp::Served(_) => Err(io::ErrorKind::Unsupported.into()),
            MountOp::Tmpfs { mode, size, .. } => {
                let (mode, size) = (format!("mode={mode:o}"), format!("size={}", size.bytes));
                let options = ["nosuid", "nodev", &mode, &size];
                self.mount(&at, "tmpfs", "tmpfs", &options, FileKind::Directory, free)
            }
            MountOp::Proc { .. } => {
                let options = ["nosuid", "nodev", "noexec"];
                self.mount(&at, "proc", "proc", &options, FileKind::Directory, free)
            }
            MountOp::Mask { .. } | MountOp::MaskIfPresent { .. } => {
                self.masked.push(at);
                Ok(())
            }
            MountOp::SealReadOnly { .. } => {
                self.read_only.push(at);
                Ok(())
            }
            MountOp::Devpts { .. } => Ok(()),
        }
    }

    /// Adds a mount. Its place must exist in the tree: nobody may write there afterwards. In memory
    /// file systems `runc` makes it.
    fn mount(
        &mut self,
        at: &str,
        kind: &str,
        source: &str,
        options: &[&str],
        place: FileKind,
        free: bool,
    ) -> io::Result<()> {
        let path = self.root.join(at.trim_start_matches('/'));
        if free && !path.exists() {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            match place {
                FileKind::Directory => fs::create_dir_all(&path)?,
                FileKind::File => fs::write(&path, "")?,
            }
        }
        self.mounts.push(json!({
            "destination": at, "type": kind, "source": source, "options": options,
        }));
        self.covered.push(at.to_owned());
        Ok(())
    }

    fn configuration(mut self, plan: &Plan) -> Value {
        fs::create_dir_all(self.root.join("dev")).unwrap_or_default();
        let device = |at: &str, kind: &str, options: &[&str]| json!({"destination": at, "type": kind, "source": kind, "options": options});
        self.mounts.push(device(
            "/dev",
            "tmpfs",
            &["nosuid", "strictatime", "mode=755", "size=65536k"],
        ));
        let terminals = ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"];
        self.mounts.push(device("/dev/pts", "devpts", &terminals));
        self.mounts.push(device("/dev/shm", "tmpfs", &["nosuid", "noexec", "nodev", "mode=1777"]));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let environment: Vec<String> = plan
            .walls
            .environment
            .iter()
            .map(|variable| {
                format!("{}={}", text(variable.name.as_bytes()), text(variable.value.as_bytes()))
            })
            .collect();
        let arguments: Vec<String> =
            plan.start.argv.iter().map(|word| text(word.as_bytes())).collect();
        let kinds = ["pid", "network", "ipc", "uts", "mount", "user", "cgroup"];
        let namespaces: Vec<Value> = kinds.iter().map(|kind| json!({"type": kind})).collect();
        let mapping = json!([{"containerID": 0, "hostID": FIRST_ID, "size": INSIDE + 1}]);
        json!({
            "ociVersion": "1.0.2",
            "hostname": "stockade",
            "root": {"path": "rootfs", "readonly": true},
            "mounts": self.mounts,
            "process": {
                "terminal": false,
                "user": {"uid": INSIDE, "gid": INSIDE},
                "args": arguments,
                "env": environment,
                "cwd": text(plan.walls.working_directory.as_bytes()),
                "noNewPrivileges": true,
            },
            "linux": {
                "namespaces": namespaces,
                "uidMappings": mapping,
                "gidMappings": mapping,
                "maskedPaths": self.masked,
                "readonlyPaths": self.read_only,
                "resources": {
                    "memory": {"limit": MEMORY_MIB << 20},
                    "pids": {"limit": PIDS},
                    "cpu": {"quota": 200_000, "period": 100_000},
                },
            },
        })
    }
}

/// The program's user inside.
const INSIDE: u32 = 1000;
/// The first of the ids on the host.
const FIRST_ID: u32 = 1_900_000_000;
