//! A fork: a snapshot as the file system of a new store, which shares nothing with the first.

use std::path::Path;

use vfs::{Caller, Result};

use crate::database::Change;
use crate::error::StoreError;
use crate::open::finish_file;
use crate::schema::{LIVE, OF_A_TREE, ROOT};
use crate::store::Store;

impl Store {
    /// Makes a new store whose file system is as a snapshot of this one. It is there whole or not at all. A16
    ///
    /// # Errors
    /// There is no such snapshot, something has the new name, or what the database refused.
    pub fn fork(&self, name: &[u8], path: &Path) -> std::result::Result<(), StoreError> {
        let of = |source| StoreError::Operation {
            action: "fork",
            subject: String::from_utf8_lossy(name).into_owned(),
            source,
        };
        let tree = self.tree_named(name).map_err(of)?;
        finish_file(path, |unfinished| {
            Self::create(unfinished, &Caller::root(), 0o755)?;
            self.fill(unfinished, tree).map_err(of)
        })
    }

    fn fill(&self, path: &Path, tree: i64) -> Result<()> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut writer = self.database.writer();
        let path = std::str::from_utf8(path.as_os_str().as_bytes())
            .map_err(|_| self.database.damaged("a path that is not text"))?;
        let attached = writer.connection().execute("ATTACH ?1 AS other", [path]);
        self.database.note(attached)?;
        let filled = writer.change(|change| copy_all(change, tree));
        let detached = writer.connection().execute_batch("DETACH other");
        filled?;
        self.database.note(detached)
    }
}

fn copy_all(change: &Change<'_>, tree: i64) -> Result<()> {
    change.run("DELETE FROM other.inode WHERE number = ?1", [ROOT])?;
    for (table, columns) in OF_A_TREE {
        let text = format!(
            "INSERT INTO other.{table} (tree, {columns})
             SELECT {LIVE}, {columns} FROM main.{table} WHERE tree = ?1"
        );
        change.run(&text, [tree])?;
    }
    change.run(
        "INSERT INTO other.chunk (number, hash, uses)
         SELECT number, hash, count(*) FROM main.extent JOIN main.chunk ON chunk.number = extent.chunk
         WHERE tree = ?1 GROUP BY number",
        [tree],
    )?;
    let text = "INSERT INTO other.bytes (chunk, bytes)
                SELECT chunk, bytes FROM main.bytes WHERE chunk IN (SELECT number FROM other.chunk)";
    change.run(text, []).map(drop)
}
