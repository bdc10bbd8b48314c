//! What stands behind the operations of one program: its world, its open files, its end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustix::io::Errno;
use vfs::{Caller, FileSystem, OpenFile};

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
    pub(super) working_directory: RefCell<String>,
    /// With what it wants to end, now.
    pub(super) exit: Cell<Option<i32>>,
    /// With what it ends when nothing is left.
    pub(super) status: Cell<i32>,
    pub(super) jobs: Jobs,
    /// How long it may compute from its beginning on.
    pub(super) allowance: Allowance,
}

/// What a number stands for.
pub(super) enum Opened {
    Stream(Stream),
    File(Rc<OpenFile>),
}

impl Host {
    pub(super) fn new(world: World) -> Self {
        let allowance = Allowance::of(world.limits.max_cpu);
        Self {
            files: world.files.clone(),
            caller: world.caller.clone(),
            open: RefCell::default(),
            working_directory: RefCell::new(
                String::from_utf8_lossy(&world.working_directory).into_owned(),
            ),
            world: RefCell::new(world),
            exit: Cell::new(None),
            status: Cell::new(0),
            jobs: Jobs::default(),
            allowance,
        }
    }

    /// A path from the root on.
    pub(super) fn path(&self, path: &str) -> Vec<u8> {
        if path.starts_with('/') || path.is_empty() {
            return path.as_bytes().to_vec();
        }
        format!("{}/{path}", self.working_directory.borrow()).into_bytes()
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
