//! Extended attributes in a store. What they take counts as bytes of the file system.

use rustix::io::Errno;
use vfs::{Result, SetXattr};

use crate::database::{all, one};
use crate::node::Node;
use crate::rows;
use crate::store::{Store, Taken};

impl Store {
    pub(crate) fn xattr_of(&self, node: &Node, name: &[u8]) -> Result<Vec<u8>> {
        let text = "SELECT value FROM xattr WHERE tree = ?1 AND inode = ?2 AND name = ?3";
        let values = rusqlite::params![self.tree, node.number, name];
        let found = self.database.read(|reader| one(reader, text, values, |row| row.get(0)))?;
        found.ok_or(Errno::NODATA.into())
    }

    pub(crate) fn xattrs_of(&self, node: &Node) -> Result<Vec<Vec<u8>>> {
        let text = "SELECT name FROM xattr WHERE tree = ?1 AND inode = ?2";
        let values = rusqlite::params![self.tree, node.number];
        self.database.read(|reader| all(reader, text, values, |row| row.get(0)))
    }

    pub(crate) fn set_xattr_of(
        &self,
        node: &Node,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        let mut writer = self.database.writer();
        let before = node.facts();
        let after = before.touched();
        let key = rusqlite::params![self.tree, node.number, name];
        let (taken, given) = writer.change(|change| {
            let text =
                "SELECT length(value) FROM xattr WHERE tree = ?1 AND inode = ?2 AND name = ?3";
            let there: Option<u64> = change.one(text, key, |row| row.get(0))?;
            match (how, there) {
                (SetXattr::Create, Some(_)) => return Err(Errno::EXIST.into()),
                (SetXattr::Replace, None) => return Err(Errno::NODATA.into()),
                _ => {}
            }
            let taken = Taken::new(&self.bytes, (name.len() + value.len()) as u64)?;
            let text = "INSERT OR REPLACE INTO xattr (tree, inode, name, value)
                        VALUES (?1, ?2, ?3, ?4)";
            change.run(text, rusqlite::params![self.tree, node.number, name, value])?;
            rows::update(change, self.tree, node.number, &after)?;
            Ok((taken, there.map_or(0, |length| length + name.len() as u64)))
        })?;
        taken.keep();
        self.bytes.give(given);
        node.set_facts(&before, after);
        Ok(())
    }

    pub(crate) fn remove_xattr_of(&self, node: &Node, name: &[u8]) -> Result<()> {
        let mut writer = self.database.writer();
        let before = node.facts();
        let after = before.touched();
        let given = writer.change(|change| {
            let text = "DELETE FROM xattr WHERE tree = ?1 AND inode = ?2 AND name = ?3
                        RETURNING length(name) + length(value)";
            let key = rusqlite::params![self.tree, node.number, name];
            let given: Option<u64> = change.one(text, key, |row| row.get(0))?;
            rows::update(change, self.tree, node.number, &after)?;
            given.ok_or(Errno::NODATA.into())
        })?;
        self.bytes.give(given);
        node.set_facts(&before, after);
        Ok(())
    }
}
