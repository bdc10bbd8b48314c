//! The tables of a store. A change to them is a new [`FORMAT`].
//!
//! Every file system in a store is a tree with a number: [`LIVE`] is the one that the engine serves, the others are
//! snapshots. Rows of a tree begin with its number, so that a snapshot is a copy of rows, and chunks are shared by all.

/// Marks the file as a store: "stkd".
pub(crate) const APPLICATION: i64 = 0x7374_6b64;

/// The version of these tables.
pub(crate) const FORMAT: i64 = 1;

/// The tree that is served.
pub(crate) const LIVE: i64 = 1;

/// The first inode of every tree.
pub(crate) const ROOT: u64 = 1;

pub(crate) const TABLES: &str = "
CREATE TABLE tree (
    number INTEGER PRIMARY KEY,
    name BLOB NOT NULL UNIQUE,
    made_seconds INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    -- It was finished; one that was not is removed when the store is opened.
    is_whole INTEGER NOT NULL
) STRICT;
CREATE TABLE inode (
    tree INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    links INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    -- The length of a file; of a directory how many names are in it.
    size INTEGER NOT NULL,
    -- Of a file, how many pages it takes.
    pages INTEGER NOT NULL,
    -- Of a directory, the one that it is in.
    parent INTEGER NOT NULL,
    target BLOB,
    accessed INTEGER NOT NULL, accessed_rest INTEGER NOT NULL,
    modified INTEGER NOT NULL, modified_rest INTEGER NOT NULL,
    changed INTEGER NOT NULL, changed_rest INTEGER NOT NULL,
    PRIMARY KEY (tree, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX orphan ON inode (tree) WHERE links = 0;
CREATE TABLE name (
    tree INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    name BLOB NOT NULL,
    child INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    cookie INTEGER NOT NULL,
    PRIMARY KEY (tree, parent, name)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX listing ON name (tree, parent, cookie);
CREATE TABLE xattr (
    tree INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    name BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (tree, inode, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE mark (
    tree INTEGER NOT NULL,
    directory INTEGER NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (tree, directory, mark)
) STRICT, WITHOUT ROWID;
-- A piece of a file. Of its pages, one bit each: which were written, and which it takes.
CREATE TABLE extent (
    tree INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    position INTEGER NOT NULL,
    chunk INTEGER,
    written INTEGER NOT NULL,
    taken INTEGER NOT NULL,
    PRIMARY KEY (tree, inode, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE chunk (
    number INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    -- How many extents have it.
    uses INTEGER NOT NULL
) STRICT;
CREATE INDEX unused ON chunk (number) WHERE uses = 0;
CREATE TABLE bytes (
    chunk INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
";

/// The tables whose rows belong to a tree, and their columns after that.
pub(crate) const OF_A_TREE: &[(&str, &str)] = &[
    (
        "inode",
        "number, kind, generation, mode, links, uid, gid, size, pages, parent, target, accessed, accessed_rest, \
         modified, modified_rest, changed, changed_rest",
    ),
    ("name", "parent, name, child, kind, cookie"),
    ("xattr", "inode, name, value"),
    ("mark", "directory, mark"),
    ("extent", "inode, position, chunk, written, taken"),
];
