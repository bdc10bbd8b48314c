//! The connections of a store: one that writes, and a pool of those that read, so that who reads waits for nobody.
//! Knows nothing of what the tables mean.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::io::Errno;
use vfs::Result;

use crate::error::{Fault, errno};

/// All connections to one file.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    /// The log, to wait for it without the writer. A store that is being made has none.
    log: Option<File>,
    /// The disk lost something: no later sync can say that all is there.
    is_lost: AtomicBool,
    fault: Mutex<Option<Fault>>,
}

/// Who writes, alone.
pub(crate) struct Writer<'a> {
    database: &'a Database,
    connection: MutexGuard<'a, Connection>,
}

impl Database {
    /// Takes over a connection that has written already, so that its log is there.
    pub(crate) fn new(path: PathBuf, writer: Connection) -> std::io::Result<Self> {
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        let log = File::open(log)?;
        log.sync_data()?;
        // The name of the log must outlive a crash too.
        if let Some(directory) = path.parent() {
            File::open(directory)?.sync_all()?;
        }
        Ok(Self { log: Some(log), ..Self::unlogged(path, writer) })
    }

    /// Takes over a connection to a file that nobody else knows.
    pub(crate) fn unlogged(path: PathBuf, writer: Connection) -> Self {
        Self {
            path,
            writer: Mutex::new(writer),
            readers: Mutex::new(Vec::new()),
            log: None,
            is_lost: AtomicBool::new(false),
            fault: Mutex::new(None),
        }
    }

    /// What the database refused last.
    pub(crate) fn fault(&self) -> Option<Fault> {
        lock(&self.fault).clone()
    }

    /// Reads with a connection that nobody else has meanwhile.
    pub(crate) fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let free = lock(&self.readers).pop();
        let connection = match free {
            Some(connection) => connection,
            None => self.note(connect(&self.path).and_then(|reader| {
                reader.pragma_update(None, "query_only", true)?;
                Ok(reader)
            }))?,
        };
        let done = act(&connection);
        let mut readers = lock(&self.readers);
        if readers.len() < MOST_READERS {
            readers.push(connection);
        }
        drop(readers);
        self.note(done)
    }

    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer { database: self, connection: lock(&self.writer) }
    }

    /// Returns when everything that was committed is on the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(Errno::IO.into());
        }
        self.log.as_ref().map_or(Ok(()), File::sync_data).map_err(|error| {
            // What the kernel could not write it has forgotten: the next call would succeed and mean nothing.
            self.is_lost.store(true, Ordering::SeqCst);
            *lock(&self.fault) = Some(Fault { text: error.to_string(), errno: Errno::IO });
            Errno::IO.into()
        })
    }

    /// Notes what the database refused, and what a guest is told of it.
    pub(crate) fn note<T>(&self, done: rusqlite::Result<T>) -> Result<T> {
        done.map_err(|error| {
            let errno = errno(&error);
            *lock(&self.fault) = Some(Fault { text: error.to_string(), errno });
            errno.into()
        })
    }

    /// Notes that what is in the store contradicts itself.
    pub(crate) fn damaged(&self, what: &str) -> vfs::Error {
        *lock(&self.fault) = Some(Fault { text: what.to_owned(), errno: Errno::IO });
        Errno::IO.into()
    }
}

impl Writer<'_> {
    /// Does all of something, or nothing.
    pub(crate) fn change<T>(&mut self, act: impl FnOnce(&Change<'_>) -> Result<T>) -> Result<T> {
        let database = self.database;
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let change = Change { database, transaction: database.note(begun)? };
        let done = act(&change)?;
        database.note(change.transaction.commit())?;
        Ok(done)
    }

    /// Moves the log into the file, and begins the log anew.
    pub(crate) fn empty_log(&mut self) -> Result<()> {
        let emptied = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.database.note(emptied)
    }

    /// The connection, for what is no transaction of ours.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// A transaction that has begun.
pub(crate) struct Change<'a> {
    database: &'a Database,
    transaction: Transaction<'a>,
}

impl Change<'_> {
    /// Runs one statement; returns how many rows it changed.
    pub(crate) fn run(&self, text: &str, values: impl rusqlite::Params) -> Result<usize> {
        let ran = self.transaction.prepare_cached(text).and_then(|mut ready| ready.execute(values));
        self.database.note(ran)
    }

    /// The first row of an answer, if there is one.
    pub(crate) fn one<T>(
        &self,
        text: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.database.note(one(&self.transaction, text, values, read))
    }

    /// All rows of an answer.
    pub(crate) fn all<T>(
        &self,
        text: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.database.note(all(&self.transaction, text, values, read))
    }

    pub(crate) fn database(&self) -> &Database {
        self.database
    }
}

/// The first row of an answer, if there is one.
pub(crate) fn one<T>(
    connection: &Connection,
    text: &str,
    values: impl rusqlite::Params,
    read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let mut ready = connection.prepare_cached(text)?;
    let mut rows = ready.query(values)?;
    rows.next()?.map(read).transpose()
}

/// All rows of an answer.
pub(crate) fn all<T>(
    connection: &Connection,
    text: &str,
    values: impl rusqlite::Params,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(text)?.query_map(values, read)?.collect()
}

/// A connection to a file that is there, with what every one of ours wants. Nothing that a file says of functions or
/// views is obeyed.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // A commit is written, and waits for the disk only in `Database::sync`.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    Ok(connection)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many connections wait for somebody who reads. Who finds none gets a new one.
const MOST_READERS: usize = 16;
const STATEMENTS: usize = 64;
/// Negative: in units of 1,024 bytes.
const CACHE_KIB: i64 = -4096;
