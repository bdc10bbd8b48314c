//! Making and opening a store: its file, the lock by which it is this process's alone, and what an earlier process left.

use std::fs::File;
use std::io::Error as IoError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rusqlite::Connection;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use vfs::{Caller, Counter, Limits, LockTable, Setting, Table, Timestamp};

use crate::chunks::Chunks;
use crate::contents::pages::PAGE;
use crate::database::{Change, Database, all, connect, one};
use crate::error::{StoreError, of_database};
use crate::node::{Facts, Nodes};
use crate::rows;
use crate::schema::{APPLICATION, FORMAT, LIVE, ROOT, TABLES};
use crate::store::Store;

impl Store {
    /// Makes an empty store, whose root directory is a user's. Its file is there whole or not at all, and only this
    /// process's user may read it.
    ///
    /// # Errors
    /// There is something of this name, or it cannot be written.
    pub fn create(path: &Path, owner: &Caller, mode: u32) -> Result<(), StoreError> {
        finish_file(path, |unfinished| make_file(unfinished, owner, mode))
    }

    /// Opens a store, for this process alone.
    ///
    /// # Errors
    /// There is none, another process has it, or what is there cannot be used.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, StoreError> {
        let path = place(path)?;
        let lock = lock(&path)?;
        let of = |error| of_database(&path, error);
        let connection = connect(&path).map_err(of)?;
        check_format(&connection, &path)?;
        let mode: String = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
            .map_err(of)?;
        if mode != "wal" {
            let what = "its file system does not let it keep a log".to_owned();
            return Err(StoreError::Damaged { path, what });
        }
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES).map_err(of)?;
        // Also makes the log, which is needed from now on.
        let text =
            "UPDATE tree SET generation = generation + 1 WHERE number = ?1 RETURNING generation";
        let generation = one(&connection, text, [LIVE], |row| row.get::<_, u64>(0)).map_err(of)?;
        let damaged =
            |what: &str| StoreError::Damaged { path: path.clone(), what: what.to_owned() };
        let generation = generation.ok_or_else(|| damaged("it has no file system"))?;
        let database = Database::new(path.clone(), connection).map_err(of_file("open", &path))?;
        let next_chunk = database.read(|reader| {
            reader.query_row("SELECT coalesce(max(number), 0) + 1 FROM chunk", [], |row| row.get(0))
        });
        let store = next_chunk.and_then(|next| {
            let (database, chunks) = (Arc::new(database), Arc::new(Chunks::new(next)));
            Self::of_tree(LIVE, database, chunks, Arc::new(lock), limits, generation)
        });
        let store = store.map_err(|source| StoreError::Operation {
            action: "open",
            subject: path.display().to_string(),
            source,
        })?;
        let swept = store.sweep();
        swept.map_err(|_| damaged(&store.fault().map_or_else(String::new, |fault| fault.text)))?;
        match store.hold(ROOT) {
            Ok(root) if root.directory().is_ok() => Ok(store),
            _ => Err(damaged("it has no root directory")),
        }
    }

    /// One of the file systems in a store that is open.
    pub(crate) fn of_tree(
        tree: i64,
        database: Arc<Database>,
        chunks: Arc<Chunks>,
        lock: Arc<Lock>,
        limits: Limits,
        generation: u64,
    ) -> vfs::Result<Self> {
        let (inodes, bytes, next_inode) = database.read(|reader| {
            let text =
                "SELECT count(*) - 1 + coalesce(sum(iif(kind = 2, 0, max(links, 1) - 1)), 0),
                            coalesce(sum(pages), 0), coalesce(sum(length(target)), 0),
                            coalesce(max(number), 0) + 1
                        FROM inode WHERE tree = ?1";
            let (inodes, pages, targets, next): (u64, u64, u64, u64) =
                reader.query_row(text, [tree], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?;
            let text =
                "SELECT coalesce(sum(length(name) + length(value)), 0) FROM xattr WHERE tree = ?1";
            let xattrs: u64 = reader.query_row(text, [tree], |row| row.get(0))?;
            Ok((inodes, pages * PAGE + targets + xattrs, next))
        })?;
        Ok(Self {
            tree,
            nodes: Nodes::new(),
            open: Table::new(),
            chunks,
            bytes: Counter::new(limits.max_bytes, Errno::NOSPC, Setting::Bytes).starting(bytes),
            inodes: Counter::new(limits.max_inodes, Errno::NOSPC, Setting::Inodes).starting(inodes),
            handles: Counter::new(limits.max_open_files, Errno::NFILE, Setting::OpenFiles),
            limits,
            late: AtomicU64::new(0),
            next_inode: AtomicU64::new(next_inode),
            next_cookie: AtomicU64::new((generation << COOKIE_BITS).max(FIRST_COOKIE)),
            generation,
            locks: LockTable::default(),
            database,
            lock,
        })
    }

    /// Removes files that had no name when an earlier process ended: it had them open.
    fn sweep(&self) -> vfs::Result<()> {
        loop {
            let left = self.database.writer().change(|change| {
                let text = "SELECT number, pages, coalesce(length(target), 0) FROM inode
                            WHERE tree = ?1 AND links = 0 LIMIT 1000";
                let orphans = change.all(text, [LIVE], |row| {
                    Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?, row.get::<_, u64>(2)?))
                })?;
                for (number, pages, target) in &orphans {
                    let xattrs = self.remove_rows(change, *number)?;
                    self.bytes.give(pages * PAGE + target + xattrs);
                    self.inodes.give(1);
                }
                Ok(orphans.len())
            })?;
            if left == 0 {
                self.remove_unfinished()?;
                let shrunk = self.database.writer().connection().execute_batch(SHRINK);
                return self.database.note(shrunk);
            }
        }
    }
}

/// Makes a file under a name that nobody looks for, and gives it its own when it is finished.
pub(crate) fn finish_file(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let path = place(path)?;
    if path.symlink_metadata().is_ok() {
        return Err(StoreError::Exists(path));
    }
    let mut unfinished = path.clone().into_os_string();
    unfinished.push(format!(".new-{}", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    let made = make(&unfinished).and_then(|()| {
        File::open(&unfinished).and_then(|file| file.sync_all()).map_err(of_file("make", &path))?;
        // A link fails where a name is taken meanwhile; a rename would replace it.
        std::fs::hard_link(&unfinished, &path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => StoreError::Exists(path.clone()),
            _ => of_file("make", &path)(error),
        })
    });
    let _gone = std::fs::remove_file(&unfinished);
    made?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    File::open(directory).and_then(|it| it.sync_all()).map_err(of_file("make", &path))
}

/// Where a store lies, without links above it.
fn place(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = of_file("find", path);
    let name = path.file_name().ok_or_else(|| StoreError::NotAStore(path.to_owned()))?;
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    Ok(directory.canonicalize().map_err(failed)?.join(name))
}

/// That a store is open, which no other process can say meanwhile.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A process that another thread is about to start has a copy of it until it runs its program: to close ours would not do.
        let _closed = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

fn lock(path: &Path) -> Result<Lock, StoreError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOENT => StoreError::Missing(path.to_owned()),
        Errno::LOOP => StoreError::NotAStore(path.to_owned()),
        _ => of_file("open", path)(errno.into()),
    })?;
    let is_file = rustix::fs::fstat(&opened).map(|found| found.st_mode & 0o170_000 == 0o100_000);
    if !is_file.map_err(|errno| of_file("open", path)(errno.into()))? {
        return Err(StoreError::NotAStore(path.to_owned()));
    }
    match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock(opened.into())),
        Err(Errno::WOULDBLOCK) => Err(StoreError::InUse(path.to_owned())),
        Err(errno) => Err(of_file("lock", path)(errno.into())),
    }
}

fn check_format(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |name: &str| {
        let read = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        read.map_err(|error| of_database(path, error))
    };
    if number("application_id")? != APPLICATION {
        return Err(StoreError::NotAStore(path.to_owned()));
    }
    match number("user_version")? {
        FORMAT => check_tables(connection, path),
        found => Err(StoreError::Format { path: path.to_owned(), found, known: FORMAT }),
    }
}

/// Whether what the file calls tables are ours and nothing else: a view or a trigger of somebody else's answers without end.
fn check_tables(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    type Row = (String, String, Option<String>);
    let of = |connection: &Connection| -> rusqlite::Result<Vec<Row>> {
        let text = "SELECT type, name, sql FROM sqlite_schema ORDER BY name";
        all(connection, text, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    };
    let ours = Connection::open_in_memory().and_then(|ours| {
        ours.execute_batch(TABLES)?;
        of(&ours)
    });
    let failed = |error| of_database(path, error);
    if of(connection).map_err(failed)? == ours.map_err(failed)? {
        return Ok(());
    }
    let what = "its tables are not those of a store".to_owned();
    Err(StoreError::Damaged { path: path.to_owned(), what })
}

/// Writes a whole store under a name that nobody looks for.
fn make_file(path: &Path, owner: &Caller, mode: u32) -> Result<(), StoreError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| of_file("make", path)(errno.into()))?;
    let failed = |error| of_database(path, error);
    let mut connection = connect(path).map_err(failed)?;
    let settings = format!(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = {APPLICATION}; \
         PRAGMA user_version = {FORMAT}"
    );
    connection.execute_batch(&settings).map_err(failed)?;
    let transaction = connection.transaction().map_err(failed)?;
    transaction.execute_batch(TABLES).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    let database_failed = |source| StoreError::Operation {
        action: "make",
        subject: path.display().to_string(),
        source,
    };
    let database = Database::unlogged(path.to_owned(), connection);
    database.writer().change(|change| root(change, owner, mode)).map_err(database_failed)
}

fn root(change: &Change<'_>, owner: &Caller, mode: u32) -> vfs::Result<()> {
    let text = "INSERT INTO tree (number, name, made_seconds, generation, is_whole)
                VALUES (?1, x'', ?2, 0, 1)";
    change.run(text, rusqlite::params![LIVE, Timestamp::now().seconds])?;
    root_of(change, LIVE, owner, mode)
}

/// The first directory of a tree.
pub(crate) fn root_of(
    change: &Change<'_>,
    tree: i64,
    owner: &Caller,
    mode: u32,
) -> vfs::Result<()> {
    let root = rows::Inode {
        kind: vfs::Kind::Directory,
        generation: 0,
        facts: Facts::new(mode, 2, owner.uid, owner.gid, ROOT),
        size: 0,
        pages: 0,
        target: Box::default(),
    };
    rows::insert(change, tree, ROOT, &root)
}

fn of_file<'a>(action: &'static str, path: &'a Path) -> impl Fn(IoError) -> StoreError + 'a {
    move |source| StoreError::File { action, path: path.to_owned(), source }
}

/// After so many pages of the log they are moved into the file: 16 MiB.
const LOG_PAGES: i64 = 4096;
/// Gives the host back some of what is free, as long as that is quick.
const SHRINK: &str = "PRAGMA incremental_vacuum(4096)";
/// Listings go on after a restart: cookies of a later opening are higher.
const COOKIE_BITS: u32 = 40;
/// 1 and 2 are `.` and `..`.
const FIRST_COOKIE: u64 = 3;
