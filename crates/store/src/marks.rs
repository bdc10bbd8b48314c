//! The marks of an overlay above, in a table of their own. No operation of a guest reaches them.

use vfs::{Inode, Marks, Result};

use crate::database::{all, one};
use crate::store::Store;

impl Marks for Store {
    fn has(&self, directory: Inode, mark: &[u8]) -> Result<bool> {
        let text = "SELECT 1 FROM mark WHERE tree = ?1 AND directory = ?2 AND mark = ?3";
        let values = rusqlite::params![self.tree, directory.0, mark];
        let found = self.database.read(|reader| one(reader, text, values, |_| Ok(())))?;
        Ok(found.is_some())
    }

    fn set(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        let node = self.node(directory)?;
        node.directory()?;
        let text = "INSERT OR IGNORE INTO mark (tree, directory, mark) VALUES (?1, ?2, ?3)";
        let values = rusqlite::params![self.tree, directory.0, mark];
        self.database.writer().change(|change| {
            self.check_room(&node.facts())?;
            change.run(text, values).map(drop)
        })
    }

    fn clear(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        let text = "DELETE FROM mark WHERE tree = ?1 AND directory = ?2 AND mark = ?3";
        let values = rusqlite::params![self.tree, directory.0, mark];
        self.database.writer().change(|change| change.run(text, values).map(drop))
    }

    fn all(&self, directory: Inode) -> Result<Vec<Vec<u8>>> {
        let text = "SELECT mark FROM mark WHERE tree = ?1 AND directory = ?2";
        let values = rusqlite::params![self.tree, directory.0];
        self.database.read(|reader| all(reader, text, values, |row| row.get(0)))
    }

    fn any(&self, directory: Inode) -> Result<bool> {
        let text = "SELECT 1 FROM mark WHERE tree = ?1 AND directory = ?2";
        let values = rusqlite::params![self.tree, directory.0];
        Ok(self.database.read(|reader| one(reader, text, values, |_| Ok(())))?.is_some())
    }
}
