//! Snapshots: the file system as it was, kept beside the one that is served. A snapshot is a copy of rows; what is in
//! files is shared, chunk by chunk, by all that have it. Never changes one that is there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use vfs::{Caller, Counter, Limits, ReadOnly, Result, Setting, Timestamp};

use crate::contents::pages::PAGE;
use crate::database::{Change, all, one};
use crate::error::StoreError;
use crate::open::root_of;
use crate::schema::{LIVE, OF_A_TREE, ROOT};
use crate::store::Store;

/// A snapshot, as a list shows it. A16
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name.
    pub name: Vec<u8>,
    /// When it was made.
    pub made: SystemTime,
    /// How many files and directories are in it.
    pub files: u64,
    /// What they take, as if nothing were shared.
    pub bytes: u64,
}

/// A file system that becomes a snapshot when it is finished. Dropped before, it is nothing.
#[derive(Debug)]
pub struct Unfinished {
    store: Option<Store>,
    name: Vec<u8>,
}

impl Store {
    /// Keeps everything as it is now, under a name that no other snapshot has. A16
    ///
    /// # Errors
    /// The name is taken, or what the database refused.
    pub fn save(&self, name: &[u8]) -> std::result::Result<(), StoreError> {
        let saved = self.flush_all().and_then(|()| {
            self.database.writer().change(|change| {
                let number = new_tree(change, name, true)?;
                copy(change, self.tree, number)
            })
        });
        saved.and_then(|()| self.database.sync()).map_err(failed("save", name))
    }

    /// All snapshots, by name.
    ///
    /// # Errors
    /// What the database refused.
    pub fn snapshots(&self) -> std::result::Result<Vec<Snapshot>, StoreError> {
        let text = "SELECT tree.name, made_seconds, count(*) - 1, coalesce(sum(pages), 0)
                    FROM tree JOIN inode ON inode.tree = tree.number
                    WHERE tree.number <> ?1 AND is_whole = 1
                    GROUP BY tree.number ORDER BY tree.name";
        let found = self.database.read(|reader| {
            all(reader, text, [LIVE], |row| {
                let made = Duration::from_secs(row.get::<_, i64>(1)?.unsigned_abs());
                Ok(Snapshot {
                    name: row.get(0)?,
                    made: SystemTime::UNIX_EPOCH + made,
                    files: row.get(2)?,
                    bytes: row.get::<_, u64>(3)? * PAGE,
                })
            })
        });
        found.map_err(failed("list", b"snapshots"))
    }

    /// A snapshot, to be read.
    ///
    /// # Errors
    /// There is none of this name, or what the database refused.
    pub fn snapshot(&self, name: &[u8]) -> std::result::Result<ReadOnly, StoreError> {
        let opened = self.tree_named(name).and_then(|tree| self.beside(tree, self.limits));
        opened.map(|store| ReadOnly::new(Arc::new(store))).map_err(failed("open", name))
    }

    /// Makes everything as it was when a snapshot was saved. Nobody may use the file system meanwhile. A16
    ///
    /// # Errors
    /// There is none of this name, or what the database refused; then nothing has changed.
    pub fn restore(&mut self, name: &[u8]) -> std::result::Result<(), StoreError> {
        self.try_restore(name).map_err(failed("restore", name))
    }

    /// Removes a snapshot, and what only it had.
    ///
    /// # Errors
    /// There is none of this name, or what the database refused.
    pub fn remove_snapshot(&self, name: &[u8]) -> std::result::Result<(), StoreError> {
        let removed = self.tree_named(name).and_then(|tree| {
            self.database.writer().change(|change| {
                clear(change, tree)?;
                change.run("DELETE FROM tree WHERE number = ?1", [tree]).map(drop)
            })
        });
        removed.map_err(failed("remove", name))
    }

    /// An empty file system, to be filled and kept as a snapshot.
    ///
    /// # Errors
    /// The name is taken, or what the database refused.
    pub fn begin_snapshot(&self, name: &[u8]) -> std::result::Result<Unfinished, StoreError> {
        let begun = self.database.writer().change(|change| {
            let number = new_tree(change, name, false)?;
            root_of(change, number, &Caller::root(), 0o755)?;
            Ok(number)
        });
        let store = begun.and_then(|number| self.beside(number, self.limits));
        let store = Some(store.map_err(failed("begin", name))?);
        Ok(Unfinished { store, name: name.to_vec() })
    }

    fn try_restore(&mut self, name: &[u8]) -> Result<()> {
        let tree = self.tree_named(name)?;
        self.flush_all()?;
        if self.is_used() {
            return Err(Errno::BUSY.into());
        }
        self.database.writer().change(|change| {
            clear(change, self.tree)?;
            copy(change, tree, self.tree)
        })?;
        self.database.sync()?;
        // What is known in memory is that of before.
        let fresh = self.beside(self.tree, self.limits)?;
        let fresh_root = fresh.hold(ROOT)?.facts();
        let root = self.nodes.get(ROOT)?;
        root.set_facts(&root.facts(), fresh_root);
        let counter = |most, setting| Counter::new(most, Errno::NOSPC, setting);
        let Limits { max_bytes, max_inodes, .. } = self.limits;
        self.bytes = counter(max_bytes, Setting::Bytes).starting(fresh.bytes.used());
        self.inodes = counter(max_inodes, Setting::Inodes).starting(fresh.inodes.used());
        // Numbers that were given out since stay theirs.
        self.next_inode.fetch_max(fresh.next_inode.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }

    /// Another tree of the same store.
    fn beside(&self, tree: i64, limits: Limits) -> Result<Self> {
        let (database, chunks) = (Arc::clone(&self.database), Arc::clone(&self.chunks));
        let lock = Arc::clone(&self.lock);
        let store = Self::of_tree(tree, database, chunks, lock, limits, self.generation)?;
        store.hold(ROOT)?;
        Ok(store)
    }

    pub(crate) fn tree_named(&self, name: &[u8]) -> Result<i64> {
        let text = "SELECT number FROM tree WHERE name = ?1 AND number <> ?2 AND is_whole = 1";
        let values = rusqlite::params![name, LIVE];
        let found = self.database.read(|reader| one(reader, text, values, |row| row.get(0)))?;
        found.ok_or(Errno::NOENT.into())
    }

    /// Removes what a process that was killed had begun.
    pub(crate) fn remove_unfinished(&self) -> Result<()> {
        self.database.writer().change(|change| {
            let text = "DELETE FROM tree WHERE is_whole = 0 RETURNING number";
            for tree in change.all(text, [], |row| row.get(0))? {
                clear(change, tree)?;
            }
            Ok(())
        })
    }
}

impl Unfinished {
    /// What is to be filled.
    ///
    /// # Errors
    /// It is finished already.
    pub fn engine(&self) -> Result<&Store> {
        self.store.as_ref().ok_or(Errno::STALE.into())
    }

    /// Makes it a snapshot, which nobody changes any more.
    ///
    /// # Errors
    /// What the database refused; then there is none.
    pub fn finish(mut self) -> std::result::Result<(), StoreError> {
        let Some(store) = self.store.take() else { return Ok(()) };
        let finished = store.flush_all().and_then(|()| {
            store.database.writer().change(|change| {
                let text = "UPDATE tree SET is_whole = 1 WHERE number = ?1";
                change.run(text, [store.tree]).map(drop)
            })
        });
        let finished = finished.and_then(|()| store.database.sync());
        finished.map_err(failed("finish", &self.name))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            // What cannot be removed now is removed when the store is opened.
            let _left = store.database.writer().change(|change| {
                clear(change, store.tree)?;
                change.run("DELETE FROM tree WHERE number = ?1", [store.tree]).map(drop)
            });
        }
    }
}

fn new_tree(change: &Change<'_>, name: &[u8], is_whole: bool) -> Result<i64> {
    if name.is_empty() {
        return Err(Errno::INVAL.into());
    }
    let text = "SELECT number FROM tree WHERE name = ?1";
    if change.one(text, [name], |_| Ok(()))?.is_some() {
        return Err(Errno::EXIST.into());
    }
    let text = "INSERT INTO tree (name, made_seconds, generation, is_whole) VALUES (?1, ?2, 0, ?3)
                RETURNING number";
    let values = rusqlite::params![name, Timestamp::now().seconds, is_whole];
    change.one(text, values, |row| row.get(0))?.ok_or(Errno::IO.into())
}

/// Copies all rows of a tree, but for files that have no name.
fn copy(change: &Change<'_>, from: i64, to: i64) -> Result<()> {
    for (table, columns) in OF_A_TREE {
        let text = format!(
            "INSERT INTO {table} (tree, {columns}) SELECT ?2, {columns} FROM {table} WHERE tree = ?1"
        );
        change.run(&text, [from, to])?;
    }
    for text in [
        "DELETE FROM extent WHERE tree = ?1
            AND inode IN (SELECT number FROM inode WHERE tree = ?1 AND links = 0)",
        "DELETE FROM xattr WHERE tree = ?1
            AND inode IN (SELECT number FROM inode WHERE tree = ?1 AND links = 0)",
        "DELETE FROM mark WHERE tree = ?1
            AND directory IN (SELECT number FROM inode WHERE tree = ?1 AND links = 0)",
        "DELETE FROM inode WHERE tree = ?1 AND links = 0",
        "UPDATE chunk SET uses = uses + more FROM
            (SELECT chunk AS used, count(*) AS more FROM extent
             WHERE tree = ?1 AND chunk IS NOT NULL GROUP BY chunk)
         WHERE number = used",
    ] {
        change.run(text, [to])?;
    }
    Ok(())
}

/// Removes all rows of a tree, and the chunks that nobody else has.
fn clear(change: &Change<'_>, tree: i64) -> Result<()> {
    let text = "UPDATE chunk SET uses = uses - less FROM
                    (SELECT chunk AS used, count(*) AS less FROM extent
                     WHERE tree = ?1 AND chunk IS NOT NULL GROUP BY chunk)
                WHERE number = used";
    change.run(text, [tree])?;
    for (table, _) in OF_A_TREE {
        change.run(&format!("DELETE FROM {table} WHERE tree = ?1"), [tree])?;
    }
    change.run("DELETE FROM bytes WHERE chunk IN (SELECT number FROM chunk WHERE uses = 0)", [])?;
    change.run("DELETE FROM chunk WHERE uses = 0", []).map(drop)
}

fn failed<'a>(action: &'static str, name: &'a [u8]) -> impl Fn(vfs::Error) -> StoreError + 'a {
    move |source| {
        let subject = String::from_utf8_lossy(name).into_owned();
        StoreError::Operation { action, subject, source }
    }
}
