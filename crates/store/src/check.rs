//! Whether a store agrees with itself: every row with every other, every chunk with its hash. Changes nothing.

use rusqlite::Connection;
use vfs::Result;

use crate::chunks::{Hash, hash};
use crate::database::one;
use crate::store::Store;

impl Store {
    /// Looks at everything in the store, snapshots too. Returns what is wrong, in words; nothing if all is well.
    ///
    /// # Errors
    /// What the database refused.
    pub fn check(&self) -> Result<Vec<String>> {
        self.flush_all()?;
        self.database.read(|reader| {
            // One moment for all questions.
            reader.execute_batch("BEGIN")?;
            let found = look(reader);
            reader.execute_batch("COMMIT")?;
            found
        })
    }
}

fn look(reader: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut rows = reader.prepare("PRAGMA integrity_check")?;
    for line in rows.query_map([], |row| row.get::<_, String>(0))? {
        let line = line?;
        if line != "ok" {
            found.push(line);
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    for (what, text) in RULES {
        let count: u64 =
            one(reader, &format!("SELECT count(*) FROM ({text})"), [], |row| row.get(0))?
                .unwrap_or_default();
        if count > 0 {
            found.push(format!("{what}: {count}"));
        }
    }
    let mut chunks = reader.prepare(
        "SELECT number, hash, bytes.bytes FROM chunk JOIN bytes ON bytes.chunk = number",
    )?;
    let mut rows = chunks.query([])?;
    while let Some(row) = rows.next()? {
        let known: Hash = row.get(1)?;
        if hash(row.get_ref(2)?.as_blob()?) != known {
            found.push(format!(
                "the bytes of chunk {} are not those of its hash",
                row.get::<_, i64>(0)?
            ));
        }
    }
    Ok(found)
}

/// What there must be none of.
const RULES: &[(&str, &str)] = &[
    (
        "chunks whose count of extents is wrong",
        "SELECT number FROM chunk LEFT JOIN extent ON extent.chunk = number
         GROUP BY number HAVING uses <> count(extent.chunk)",
    ),
    ("chunks without bytes", "SELECT number FROM chunk WHERE number NOT IN (SELECT chunk FROM bytes)"),
    ("bytes without a chunk", "SELECT chunk FROM bytes WHERE chunk NOT IN (SELECT number FROM chunk)"),
    (
        "extents of a chunk that is not there",
        "SELECT chunk FROM extent WHERE chunk IS NOT NULL AND chunk NOT IN (SELECT number FROM chunk)",
    ),
    (
        "extents of what is no file",
        "SELECT 1 FROM extent LEFT JOIN inode ON inode.tree = extent.tree AND inode.number = extent.inode
         WHERE kind IS NOT 1",
    ),
    (
        "extents that take no page, or hold one that they do not take",
        "SELECT 1 FROM extent WHERE taken <= 0 OR taken > 65535 OR written & ~taken <> 0",
    ),
    (
        "files whose count of pages is wrong",
        "SELECT number FROM inode LEFT JOIN
            (SELECT tree, inode, sum(pages_of) AS there FROM
                (SELECT tree, inode,
                    (taken & 1) + (taken >> 1 & 1) + (taken >> 2 & 1) + (taken >> 3 & 1)
                    + (taken >> 4 & 1) + (taken >> 5 & 1) + (taken >> 6 & 1) + (taken >> 7 & 1)
                    + (taken >> 8 & 1) + (taken >> 9 & 1) + (taken >> 10 & 1) + (taken >> 11 & 1)
                    + (taken >> 12 & 1) + (taken >> 13 & 1) + (taken >> 14 & 1) + (taken >> 15 & 1)
                    AS pages_of FROM extent)
             GROUP BY tree, inode) AS counted
            ON counted.tree = inode.tree AND counted.inode = inode.number
         WHERE pages <> coalesce(there, 0)",
    ),
    (
        "names that lead to nothing, or to another kind",
        "SELECT 1 FROM name LEFT JOIN inode ON inode.tree = name.tree AND inode.number = name.child
         WHERE inode.kind IS NOT name.kind",
    ),
    (
        "names in what is no directory",
        "SELECT 1 FROM name LEFT JOIN inode ON inode.tree = name.tree AND inode.number = name.parent
         WHERE inode.kind IS NOT 2",
    ),
    (
        "files whose count of names is wrong",
        "SELECT number FROM inode LEFT JOIN name ON name.tree = inode.tree AND name.child = inode.number
         WHERE inode.kind <> 2 GROUP BY inode.tree, number HAVING links <> count(name.child)",
    ),
    (
        "directories with no name or several",
        "SELECT number FROM inode LEFT JOIN name ON name.tree = inode.tree AND name.child = inode.number
         WHERE inode.kind = 2 AND number <> 1 AND links > 0
         GROUP BY inode.tree, number HAVING count(name.child) <> 1",
    ),
    (
        "directories whose counts are wrong",
        "SELECT number FROM inode LEFT JOIN name ON name.tree = inode.tree AND name.parent = inode.number
         WHERE inode.kind = 2 GROUP BY inode.tree, number
         HAVING size <> count(name.name)
            OR (links > 0 AND links <> 2 + coalesce(sum(name.kind = 2), 0)) OR (links = 0 AND size > 0)",
    ),
    (
        "directories that are in another one than they know",
        "SELECT 1 FROM name JOIN inode ON inode.tree = name.tree AND inode.number = name.child
         WHERE inode.kind = 2 AND inode.parent <> name.parent",
    ),
    (
        "files that no path leads to",
        "WITH RECURSIVE reached (tree, number) AS (
            SELECT number, 1 FROM tree
            UNION SELECT name.tree, name.child FROM name
                JOIN reached ON name.tree = reached.tree AND name.parent = reached.number)
         SELECT tree, number FROM inode WHERE links > 0 EXCEPT SELECT tree, number FROM reached",
    ),
    (
        "extended attributes or marks of nothing",
        "SELECT tree, inode FROM xattr UNION SELECT tree, directory FROM mark
         EXCEPT SELECT tree, number FROM inode",
    ),
    ("trees without a root", "SELECT number FROM tree EXCEPT SELECT tree FROM inode WHERE number = 1 AND kind = 2"),
    ("rows of no tree", "SELECT tree FROM inode EXCEPT SELECT number FROM tree"),
];
