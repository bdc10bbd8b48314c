//! Rows of inodes: what is known of a file, to and from the database.

use rusqlite::Row;
use vfs::{ALL_MODE_BITS, Kind, Result, Timestamp};

use crate::database::Change;
use crate::node::Facts;

/// What is known of a file, as it is in the database.
pub(crate) struct Inode {
    pub(crate) kind: Kind,
    pub(crate) generation: u64,
    pub(crate) facts: Facts,
    pub(crate) size: u64,
    pub(crate) pages: u64,
    pub(crate) target: Box<[u8]>,
}

pub(crate) const SELECT: &str = "
SELECT kind, generation, mode, links, uid, gid, size, pages, parent, target,
    accessed, accessed_rest, modified, modified_rest, changed, changed_rest
FROM inode WHERE tree = ?1 AND number = ?2";

pub(crate) fn inode(row: &Row<'_>) -> rusqlite::Result<Inode> {
    let time = |at: usize| -> rusqlite::Result<Timestamp> {
        Ok(Timestamp { seconds: row.get(at)?, nanoseconds: row.get(at + 1)? })
    };
    let facts = Facts {
        mode: row.get::<_, u32>(2)? & ALL_MODE_BITS,
        links: row.get(3)?,
        uid: row.get(4)?,
        gid: row.get(5)?,
        names: row.get(6)?,
        parent: row.get(8)?,
        accessed: time(10)?,
        modified: time(12)?,
        changed: time(14)?,
    };
    Ok(Inode {
        kind: kind(row.get(0)?)?,
        generation: row.get(1)?,
        facts,
        size: row.get(6)?,
        pages: row.get(7)?,
        target: row.get::<_, Option<Vec<u8>>>(9)?.unwrap_or_default().into(),
    })
}

/// Adds a row.
pub(crate) fn insert(change: &Change<'_>, tree: i64, number: u64, inode: &Inode) -> Result<()> {
    let facts = &inode.facts;
    change.run(
        "INSERT INTO inode (tree, number, kind, generation, mode, links, uid, gid, size, pages, parent, target,
            accessed, accessed_rest, modified, modified_rest, changed, changed_rest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        rusqlite::params![
            tree,
            number,
            number_of(inode.kind),
            inode.generation,
            facts.mode,
            facts.links,
            facts.uid,
            facts.gid,
            inode.size,
            inode.pages,
            facts.parent,
            (inode.kind == Kind::Link).then_some(&*inode.target),
            facts.accessed.seconds,
            facts.accessed.nanoseconds,
            facts.modified.seconds,
            facts.modified.nanoseconds,
            facts.changed.seconds,
            facts.changed.nanoseconds,
        ],
    )
    .map(drop)
}

/// Changes what is known of a file beside its length.
pub(crate) fn update(change: &Change<'_>, tree: i64, number: u64, facts: &Facts) -> Result<()> {
    change
        .run(
            "UPDATE inode SET mode = ?3, links = ?4, uid = ?5, gid = ?6, parent = ?7,
                accessed = ?8, accessed_rest = ?9, modified = ?10, modified_rest = ?11,
                changed = ?12, changed_rest = ?13
             WHERE tree = ?1 AND number = ?2",
            rusqlite::params![
                tree,
                number,
                facts.mode,
                facts.links,
                facts.uid,
                facts.gid,
                facts.parent,
                facts.accessed.seconds,
                facts.accessed.nanoseconds,
                facts.modified.seconds,
                facts.modified.nanoseconds,
                facts.changed.seconds,
                facts.changed.nanoseconds,
            ],
        )
        .map(drop)
}

/// Changes what is known of a directory whose names have changed.
pub(crate) fn update_directory(
    change: &Change<'_>,
    tree: i64,
    number: u64,
    facts: &Facts,
) -> Result<()> {
    update(change, tree, number, facts)?;
    let text = "UPDATE inode SET size = ?3 WHERE tree = ?1 AND number = ?2";
    change.run(text, rusqlite::params![tree, number, facts.names]).map(drop)
}

pub(crate) const fn number_of(kind: Kind) -> i64 {
    match kind {
        Kind::File => 1,
        Kind::Directory => 2,
        Kind::Link => 3,
        Kind::Fifo => 4,
        Kind::Socket => 5,
        Kind::CharacterDevice => 6,
        Kind::BlockDevice => 7,
    }
}

pub(crate) fn kind(number: i64) -> rusqlite::Result<Kind> {
    Ok(match number {
        1 => Kind::File,
        2 => Kind::Directory,
        3 => Kind::Link,
        4 => Kind::Fifo,
        5 => Kind::Socket,
        6 => Kind::CharacterDevice,
        7 => Kind::BlockDevice,
        _ => return Err(rusqlite::Error::IntegralValueOutOfRange(0, number)),
    })
}
