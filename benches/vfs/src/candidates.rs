//! What is compared: directories that are native, ours, or another program's. Each serves from a process of its own.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fileserver::{Access, Foreground, Settings, Sharing, Source};
use rustix::mount::MountFlags;
use tempfile::TempDir;
use vfs::Limits;

use crate::Options;
use crate::work::{self, Packed};

/// The word that makes this program a server.
pub(crate) const ROLE: &str = "serve";

pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Native,
    Tmpfs,
    Memory(&'static str),
    Overlay(&'static str),
    Directory,
    Bound,
    Cage,
    FuseOverlayfs,
    Bindfs,
}

pub(crate) fn all() -> Vec<Candidate> {
    let mut all = vec![
        Candidate { name: "native", kind: Kind::Native },
        Candidate { name: "tmpfs", kind: Kind::Tmpfs },
        Candidate { name: "memory", kind: Kind::Memory("alone") },
        Candidate { name: "memory, gathering", kind: Kind::Memory("gathering") },
        Candidate { name: "overlay", kind: Kind::Overlay("alone") },
        Candidate { name: "overlay, gathering", kind: Kind::Overlay("gathering") },
        Candidate { name: "directory", kind: Kind::Directory },
        Candidate { name: "bound by the kernel", kind: Kind::Bound },
    ];
    if beside(STOCKADE).is_ok_and(|program| program.is_file()) {
        all.push(Candidate { name: "bound, in a cage", kind: Kind::Cage });
    }
    for (name, path, kind) in [
        ("fuse-overlayfs", "/usr/bin/fuse-overlayfs", Kind::FuseOverlayfs),
        ("bindfs", "/usr/bin/bindfs", Kind::Bindfs),
    ] {
        if Path::new(path).is_file() {
            all.push(Candidate { name, kind });
        }
    }
    all
}

/// A directory to work in, until this is dropped.
pub(crate) struct Mounted {
    path: PathBuf,
    server: Option<Child>,
    is_bound: bool,
    _place: TempDir,
}

impl Mounted {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_bound || self.server.is_some() {
            let flags = rustix::mount::UnmountFlags::DETACH;
            let _gone = rustix::mount::unmount(&self.path, flags);
        }
        if let Some(server) = &mut self.server {
            let _ended = server.wait();
        }
    }
}

impl Candidate {
    pub(crate) fn mount(&self) -> io::Result<Mounted> {
        let is_tmpfs = matches!(self.kind, Kind::Tmpfs);
        let place = if is_tmpfs { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() }?;
        let at = |name: &str| place.path().join(name);
        for name in ["lower", "upper", "work", "mounted"] {
            std::fs::create_dir(at(name))?;
        }
        let path = at("mounted");
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let (lower, upper) = (text(at("lower")), text(at("upper")));
        let ours = |source: String, settings: &str| {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(ROLE).arg(source).arg(&path).arg(settings);
            io::Result::Ok(command)
        };
        let command = match self.kind {
            Kind::Native | Kind::Tmpfs | Kind::Cage => {
                return Ok(Mounted { path, server: None, is_bound: false, _place: place });
            }
            Kind::Bound => {
                bind(&at("upper"), &path)?;
                return Ok(Mounted { path, server: None, is_bound: true, _place: place });
            }
            Kind::Memory(settings) => ours("memory:".to_owned(), settings)?,
            Kind::Overlay(settings) => ours(format!("overlay:{lower}:{upper}"), settings)?,
            Kind::Directory => ours(format!("dir:{upper}"), "alone")?,
            Kind::FuseOverlayfs => {
                let mut command = Command::new("/usr/bin/fuse-overlayfs");
                let work = text(at("work"));
                let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
                command.args(["-f", "-o", &options]).arg(&path);
                command
            }
            Kind::Bindfs => {
                let mut command = Command::new("/usr/bin/bindfs");
                command.args(["-f", &upper]).arg(&path);
                command
            }
        };
        let mut command = command;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Some(command.spawn()?);
        let mounted = Mounted { path, server, is_bound: false, _place: place };
        wait_for_mount(&mounted.path)?;
        Ok(mounted)
    }
}

impl Candidate {
    /// How long everything takes there.
    pub(crate) fn perform(
        &self,
        mounted: &Mounted,
        options: &Options,
        packed: &Packed,
    ) -> io::Result<Vec<Duration>> {
        match self.kind {
            Kind::Cage => in_cage(mounted.path(), options.files, packed.archive()),
            _ => work::perform(mounted.path(), options.files, packed.archive()),
        }
    }
}

/// As a cage binds a directory that it may change.
fn bind(from: &Path, to: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount_bind(from, to)?;
    Ok(rustix::mount::mount_remount(to, MountFlags::BIND | flags, "")?)
}

/// The work of a program in a cage whose policy grants the directory, with all that holds a program there.
fn in_cage(place: &Path, files: usize, archive: &Path) -> io::Result<Vec<Duration>> {
    let own = std::env::current_exe()?;
    let mut command = Command::new(beside(STOCKADE)?);
    command.args(["run", "--explain=nothing", "--rw"]).arg(place);
    command.arg("--ro").arg(&own).arg("--ro").arg(archive);
    command.arg("--").arg(&own).arg(work::ROLE).arg(place).arg(files.to_string()).arg(archive);
    let output = command.current_dir(place).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("the work in a cage failed: {said}")));
    }
    work::read_told(&String::from_utf8_lossy(&output.stdout))
}

/// Another program of the same build.
fn beside(program: &str) -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(program))
}

fn wait_for_mount(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let above = std::fs::metadata(path.parent().unwrap_or(path))?.dev();
    let begin = Instant::now();
    while std::fs::metadata(path).map_or(above, |found| found.dev()) == above {
        if begin.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("nothing is mounted on `{}`", path.display())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Serves one of ours, in a process of its own.
pub(crate) fn serve(source: &str, directory: &str, settings: &str) -> io::Result<()> {
    fileserver::hold_as_many_as_may_be();
    let source = Source::parse(OsStr::new(source)).map_err(io::Error::other)?;
    let limits = Limits { max_bytes: 4 << 30, ..Limits::default() };
    let engine = source.open(&limits).map_err(io::Error::other)?;
    let sharing = if settings == "shared" { Sharing::Shared } else { Sharing::Alone };
    let wanted = Foreground {
        name: "bench".to_owned(),
        directory: directory.into(),
        access: Access::Write,
        settings: Settings {
            sharing,
            gather_writes: settings == "gathering",
            threads: 4,
            most_remembered: source.most_remembered(),
            one_owner: None,
        },
        program: Vec::new(),
    };
    let ended = fileserver::serve_in_foreground(engine, &wanted, |_| {});
    ended.map(drop).map_err(io::Error::other)
}

const STOCKADE: &str = "stockade";
const PATIENCE: Duration = Duration::from_secs(10);
