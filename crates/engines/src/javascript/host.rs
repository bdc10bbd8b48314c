//! What stands behind the operations of one program: its world, its open files, its end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustix::io::Errno;
use vfs::{At, Caller, FileSystem, OpenFile, OpenFlags};

use super::jobs::Jobs;
use crate::processor::Allowance;
use crate::streams::Stream;
use crate::world::{Around, CallsTools, World};

/// What stands behind the operations of one program.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) world: RefCell<World>,
    pub(super) files: FileSystem,
    pub(super) caller: Caller,
    open: RefCell<BTreeMap<i32, Rc<OpenFile>>>,
    working_directory: RefCell<Directory>,
    /// With what it wants to end, now.
    pub(super) exit: Cell<Option<i32>>,
    /// With what it ends when nothing is left.
    pub(super) status: Cell<i32>,
    pub(super) jobs: Jobs,
    /// How long it may compute from its beginning on.
    pub(super) allowance: Cell<Allowance>,
}

/// Where relative paths begin.
#[derive(Debug)]
struct Directory {
    path: String,
    /// If it is there and may be opened.
    open: Option<Rc<OpenFile>>,
}

/// A path, and where it begins.
pub(super) struct Place {
    here: Option<Rc<OpenFile>>,
    pub(super) path: Vec<u8>,
}

impl Place {
    pub(super) fn at(&self) -> At<'_> {
        self.here.as_deref().map_or(At::Root, At::Directory)
    }
}

/// What a number stands for.
pub(super) enum Opened {
    Stream(Stream),
    File(Rc<OpenFile>),
}

impl Host {
    pub(super) fn new(world: World) -> Self {
        let allowance = Cell::new(Allowance::of(world.limits.max_cpu));
        let host = Self {
            files: world.files.clone(),
            caller: world.caller.clone(),
            open: RefCell::default(),
            working_directory: RefCell::new(Directory { path: String::new(), open: None }),
            world: RefCell::new(world),
            exit: Cell::new(None),
            status: Cell::new(0),
            jobs: Jobs::default(),
            allowance,
        };
        host.begin_here();
        host
    }

    /// Everything but files and user is from now on that of another world.
    pub(super) fn begin(&self, world: World) {
        self.allowance.set(Allowance::of(world.limits.max_cpu));
        *self.world.borrow_mut() = world;
        self.begin_here();
    }

    fn begin_here(&self) {
        let path = String::from_utf8_lossy(&self.world.borrow().working_directory).into_owned();
        self.change_directory(path);
    }

    /// Lets relative paths begin at another one, which is from the root on.
    pub(super) fn change_directory(&self, path: String) {
        let flags = OpenFlags { directory: true, path: true, ..OpenFlags::NOTHING };
        let open = self.files.open(&self.caller, At::Root, path.as_bytes(), flags, 0);
        *self.working_directory.borrow_mut() = Directory { path, open: open.ok().map(Rc::new) };
    }

    pub(super) fn working_directory(&self) -> String {
        self.working_directory.borrow().path.clone()
    }

    /// A path and where it begins: at the working directory itself, so that what is above it is not looked up each time.
    pub(super) fn place(&self, path: &str) -> Place {
        let here = self.working_directory.borrow().open.clone();
        match here.filter(|_| !path.starts_with('/')) {
            Some(here) => Place { here: Some(here), path: path.as_bytes().to_vec() },
            None => Place { here: None, path: self.path(path) },
        }
    }

    /// A path from the root on.
    pub(super) fn path(&self, path: &str) -> Vec<u8> {
        if path.starts_with('/') || path.is_empty() {
            return path.as_bytes().to_vec();
        }
        format!("{}/{path}", self.working_directory.borrow().path).into_bytes()
    }

    /// Gives an open file the lowest number that is free.
    pub(super) fn add(&self, file: OpenFile) -> Result<i32, Errno> {
        let mut open = self.open.borrow_mut();
        if open.len() >= usize::try_from(self.most()).unwrap_or(usize::MAX) {
            return Err(Errno::MFILE);
        }
        let number =
            (FIRST_FILE..).find(|number| !open.contains_key(number)).ok_or(Errno::MFILE)?;
        open.insert(number, Rc::new(file));
        Ok(number)
    }

    /// Whether the program may use what is around this process.
    pub(super) fn around(&self) -> Result<(), Errno> {
        match self.world.borrow().around {
            Around::ThisProcess => Ok(()),
            Around::Nothing | Around::Tools(_) => Err(Errno::ACCESS),
        }
    }

    /// Who calls tools for the program.
    pub(super) fn tools(&self) -> Result<Arc<dyn CallsTools>, Errno> {
        match &self.world.borrow().around {
            Around::Tools(tools) => Ok(Arc::clone(tools)),
            Around::Nothing | Around::ThisProcess => Err(Errno::ACCESS),
        }
    }

    fn most(&self) -> u32 {
        self.world.borrow().limits.max_descriptors
    }

    pub(super) fn find(&self, number: i32) -> Result<Opened, Errno> {
        match number {
            0 => Ok(Opened::Stream(Stream::Input)),
            1 => Ok(Opened::Stream(Stream::Output)),
            2 => Ok(Opened::Stream(Stream::Error)),
            _ => self.open.borrow().get(&number).cloned().map(Opened::File).ok_or(Errno::BADF),
        }
    }

    /// The file of a number that is no stream.
    pub(super) fn file(&self, number: i32) -> Result<Rc<OpenFile>, Errno> {
        match self.find(number)? {
            Opened::File(file) => Ok(file),
            Opened::Stream(_) => Err(Errno::INVAL),
        }
    }

    pub(super) fn close(&self, number: i32) -> Result<(), vfs::Error> {
        if number < FIRST_FILE {
            return Ok(());
        }
        let file = self.open.borrow_mut().remove(&number).ok_or(Errno::BADF)?;
        Rc::into_inner(file).map_or(Ok(()), |file| file.close(&self.caller))
    }
}

const FIRST_FILE: i32 = 3;
