//! What a project keeps from run to run, whatever the session: its private home and the layers of its caches. Lies in
//! the user's state directory, never in the project.

use std::os::fd::{AsFd as _, OwnedFd};

use plan::{HostPath, MAX_PATH_BYTES};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::areas::{Area, Areas, Use};
use crate::beneath::{
    DIRECTORY_FLAGS, check_ownership, make_directory, names, open_below, read, write_new,
};
use crate::error::SessionError;

/// What the projects of one user keep.
#[derive(Debug)]
pub struct Projects {
    directory: OwnedFd,
    path: HostPath,
}

/// What one project keeps.
#[derive(Debug)]
pub struct Project {
    root: HostPath,
    name: String,
    areas: Areas,
}

impl Projects {
    /// Those kept in a state directory, which is the user's alone.
    pub fn open(state: &HostPath) -> Result<Self, SessionError> {
        let failed = |call| SessionError::kernel(call, &state.as_path().join(DIRECTORY));
        let path = state.join(DIRECTORY).map_err(|_| failed("open")(Errno::NAMETOOLONG))?;
        match rustix::fs::mkdir(path.as_path(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("mkdir")(errno)),
        }
        let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
        let directory =
            rustix::fs::open(path.as_path(), flags, Mode::empty()).map_err(failed("open"))?;
        check_ownership(&directory, &path)?;
        let real = std::fs::canonicalize(path.as_path()).map_err(|error| {
            failed("canonicalize")(Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        let path = HostPath::new(real.into_os_string())
            .map_err(|_| failed("canonicalize")(Errno::NAMETOOLONG))?;
        Ok(Self { directory, path })
    }

    /// What a project keeps; begins to keep something where it has not.
    pub fn enter(&self, root: &HostPath) -> Result<Project, SessionError> {
        let hash = Sha256::digest(root.as_bytes());
        let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let failed = |call| self.failed(call, &name);
        make_directory(&self.directory, &name).map_err(failed("mkdir"))?;
        let directory = open_below(&self.directory, &name).map_err(failed("open"))?;
        match write_new(&directory, ROOT, root.as_bytes()) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("write")(errno)),
        }
        self.open_named(&name)
    }

    /// Every project that keeps something, by its root.
    pub fn list(&self) -> Result<Vec<Project>, SessionError> {
        let names = names(&self.directory).map_err(self.failed("read", ""))?;
        let named = names.iter().filter(|name| !name.starts_with('.'));
        let mut listed: Vec<Project> =
            named.map(|name| self.open_named(name)).collect::<Result<_, _>>()?;
        listed.sort_by(|one, other| one.root.cmp(&other.root));
        Ok(listed)
    }

    /// Removes what a project keeps, unless somebody uses it.
    pub fn forget(&self, project: Project) -> Result<(), SessionError> {
        let Project { name, areas, .. } = project;
        let held: Vec<Area> = areas.list()?;
        held.iter().try_for_each(|area| area.occupy(Use::Alone))?;
        let failed = |call| self.failed(call, &name);
        let gone = format!(".forgotten-{name}");
        let text =
            std::ffi::CString::new(gone.as_str()).map_err(|_| failed("remove")(Errno::INVAL))?;
        // What a killed process left under that name goes first.
        if rustix::fs::statat(&self.directory, &gone, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            sys::wipe::wipe(self.directory.as_fd(), &text).map_err(failed("remove"))?;
        }
        rustix::fs::renameat(&self.directory, &name, &self.directory, &gone)
            .map_err(failed("rename"))?;
        sys::wipe::wipe(self.directory.as_fd(), &text).map_err(failed("remove"))
    }

    fn open_named(&self, name: &str) -> Result<Project, SessionError> {
        let failed = |call| self.failed(call, name);
        let directory = open_below(&self.directory, name).map_err(failed("open"))?;
        let root = read(&directory, ROOT, MAX_PATH_BYTES).map_err(failed("read"))?;
        let root = HostPath::new(root).map_err(|_| failed("read")(Errno::BADMSG))?;
        let path = self.path.join(name).map_err(|_| failed("open")(Errno::NAMETOOLONG))?;
        Ok(Project { root, name: name.to_owned(), areas: Areas::below(&directory, &path)? })
    }

    fn failed(&self, call: &'static str, name: &str) -> impl FnOnce(Errno) -> SessionError + use<> {
        SessionError::kernel(call, &self.path.as_path().join(name))
    }
}

impl Project {
    /// The project's root on the host.
    pub fn root(&self) -> &HostPath {
        &self.root
    }

    /// Its areas.
    pub fn areas(&self) -> &Areas {
        &self.areas
    }
}

const DIRECTORY: &str = "projects";
const ROOT: &str = "root";
