//! The marks of an overlay above, kept with the directory that they are about. No operation of a guest reaches them.

use super::Memory;
use crate::engine::{Inode, Marks};
use crate::error::Result;
use crate::table::{read, write};

impl Marks for Memory {
    fn has(&self, directory: Inode, mark: &[u8]) -> Result<bool> {
        Ok(read(&self.node(directory)?.directory()?.names).marks.contains(mark))
    }

    fn set(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        let node = self.node(directory)?;
        let mut names = write(&node.directory()?.names);
        if !names.marks.contains(mark) {
            self.check_room(&names)?;
            names.marks.insert(mark.into());
        }
        Ok(())
    }

    fn clear(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        write(&self.node(directory)?.directory()?.names).marks.remove(mark);
        Ok(())
    }

    fn all(&self, directory: Inode) -> Result<Vec<Vec<u8>>> {
        let node = self.node(directory)?;
        let names = read(&node.directory()?.names);
        Ok(names.marks.iter().map(|mark| mark.to_vec()).collect())
    }

    fn any(&self, directory: Inode) -> Result<bool> {
        Ok(!read(&self.node(directory)?.directory()?.names).marks.is_empty())
    }
}
