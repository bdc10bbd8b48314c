//! Names: what leads where. What is known of a name is believed for a short time. Changes nothing on the other side.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::Errno;
use vfs::{Entry, Inode, Kind, Name, Result, Timestamp, read, write};

use super::node::{Node, kind_of};
use super::{Names, Remote, lock};
use crate::backend::{Meta, MetaKind, below};
use crate::failure::Why;

/// Which numbers are held.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By path. A file with several names has several.
    pub(super) paths: HashMap<Arc<str>, u64>,
    /// Files by what the other side calls them, where that stays through a rename.
    ids: HashMap<String, u64>,
}

/// What entries of listings are, by their paths: of a version, and of a time when it was written.
pub(super) type Kinds = HashMap<String, (String, Timestamp, Kind)>;

/// What is left of something that has lost a name.
pub(super) enum Left {
    /// Nothing that has a name.
    Nothing,
    /// It has others.
    Named(Box<Meta>),
    /// Somebody else took the name: whether there are others, its notes say.
    Unknown,
}

impl From<Option<Meta>> for Left {
    fn from(left: Option<Meta>) -> Self {
        left.map_or(Self::Nothing, |meta| Self::Named(Box::new(meta)))
    }
}

impl Remote {
    /// What a name leads to, held.
    pub(super) fn find(&self, parent: &Node, name: Name<'_>) -> Result<Arc<Node>> {
        // Nothing has a name that the other side cannot have.
        let path = path_of(parent, name).map_err(|_| Errno::NOENT)?;
        if let Some(node) = self.held_at(&path) {
            let is_fresh = read(&node.state).until > Instant::now();
            // What is written here and is not there yet is newer than what is there.
            if is_fresh || lock(&node.late).is_some() {
                return Ok(node);
            }
            self.give_back(node.number, 1);
        }
        match self.backend.stat(&path) {
            Ok(meta) => Ok(self.known(path, parent.number, meta)),
            Err(failure) => {
                if failure.why == Why::Missing {
                    self.unknow(&path, Left::Unknown);
                }
                self.told(Err(failure))
            }
        }
    }

    /// The node of a path of which something is known now, held.
    pub(super) fn known(&self, path: String, parent: u64, meta: Meta) -> Arc<Node> {
        let path: Arc<str> = path.into();
        let until = Instant::now() + self.settings.believed;
        let mut known = lock(&self.known);
        let by_path = known.paths.get(&path).and_then(|number| self.nodes.get(*number));
        let is_same = |node: &Arc<Node>| {
            let id = &read(&node.state).meta.id;
            node.kind == kind_of(&meta) && (*id == meta.id || node.number == self.root.number)
        };
        let found = by_path.as_ref().filter(|node| is_same(node)).cloned().or_else(|| {
            let by_id = known.ids.get(&meta.id).and_then(|number| self.nodes.get(*number));
            by_id.filter(is_same)
        });
        if let Some(before) =
            by_path.filter(|it| found.as_ref().is_none_or(|node| it.number != node.number))
        {
            before.drop_path(&path);
        }
        if let Some(node) = found {
            node.held.fetch_add(1, Ordering::SeqCst);
            known.paths.insert(Arc::clone(&path), node.number);
            node.add_path(&path);
            drop(known);
            if lock(&node.late).is_none() {
                node.refresh(meta, until);
            }
            return node;
        }
        let number = self.nodes.next();
        if !meta.id.is_empty() && meta.kind == MetaKind::File {
            known.ids.insert(meta.id.clone(), number);
        }
        let node = Arc::new(Node::new(number, Arc::clone(&path), parent, meta, until));
        self.nodes.put(number, Arc::clone(&node));
        known.paths.insert(path, number);
        drop(known);
        // `..` leads there as long as this one is held.
        self.hold(parent);
        node
    }

    pub(super) fn hold(&self, number: u64) {
        if let Some(node) = self.nodes.get(number) {
            node.held.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn held_at(&self, path: &str) -> Option<Arc<Node>> {
        let known = lock(&self.known);
        let node = known.paths.get(path).and_then(|number| self.nodes.get(*number))?;
        node.held.fetch_add(1, Ordering::SeqCst);
        Some(node)
    }

    /// Whether a path is known to lead to a node.
    pub(super) fn leads_to(&self, path: &str, node: &Node) -> bool {
        lock(&self.known).paths.get(path) == Some(&node.number) && !node.is_gone()
    }

    /// What has this path lost it.
    pub(super) fn unknow(&self, path: &str, left: Left) {
        let lost = lock(&self.known).paths.remove(path);
        let Some(node) = lost.and_then(|number| self.nodes.get(number)) else { return };
        node.drop_path(path);
        let has_others =
            read(&node.state).meta.notes.as_ref().is_some_and(|it| it.further_names > 0);
        match left {
            Left::Named(meta) => node.refresh(*meta, Instant::now() + self.settings.believed),
            Left::Unknown if has_others => {}
            Left::Nothing | Left::Unknown => {
                node.is_gone.store(true, Ordering::SeqCst);
                let mut state = write(&node.state);
                if let Some(notes) = &mut state.meta.notes {
                    notes.changed = Some(Timestamp::now());
                }
            }
        }
    }

    /// A file that was written anew is another one to the other side.
    pub(super) fn renumber(&self, node: &Node, meta: &Meta) {
        let before = read(&node.state).meta.id.clone();
        if before != meta.id {
            let mut known = lock(&self.known);
            known.ids.remove(&before);
            known.ids.insert(meta.id.clone(), node.number);
        }
    }

    pub(super) fn number_of(&self, parent: &Node, name: &str) -> Option<u64> {
        lock(&self.known).paths.get(&*below(&parent.path(), name)).copied()
    }

    pub(super) fn entry(&self, node: &Node) -> Entry {
        let (inode, generation) = (Inode(node.number), 1);
        Entry { inode, generation, attributes: self.attributes_of(node) }
    }

    pub(super) fn give_back(&self, number: u64, count: u64) {
        let (mut number, mut count) = (number, count);
        loop {
            let Some(node) = self.nodes.get(number) else { return };
            let mut known = lock(&self.known);
            if node.held.fetch_sub(count, Ordering::SeqCst) != count || number == self.root.number {
                return;
            }
            for path in &read(&node.paths).all {
                if known.paths.get(path) == Some(&number) {
                    known.paths.remove(path);
                }
            }
            let id = read(&node.state).meta.id.clone();
            if known.ids.get(&id) == Some(&number) {
                known.ids.remove(&id);
            }
            self.nodes.take(number);
            drop(known);
            (number, count) = (node.parent(), 1);
        }
    }

    pub(super) fn names_of(&self, node: &Node) -> Result<Names> {
        let listed = self.told(self.backend.list(&node.path(), self.settings.most_names))?;
        let count = listed.iter().filter(|(_, meta)| meta.kind == MetaKind::Directory).count();
        write(&node.state).directories = u32::try_from(count).ok();
        let named = |(name, meta): (String, Meta)| {
            let kind = self.kind_in(node, &name, meta)?;
            Ok((name, kind))
        };
        listed.into_iter().map(named).collect()
    }

    /// What an entry of a listing is.
    fn kind_in(&self, parent: &Node, name: &str, listed: Meta) -> Result<Kind> {
        let is_directory = listed.kind == MetaKind::Directory;
        let held = self.number_of(parent, name).and_then(|number| self.nodes.get(number));
        if let Some(kind) = held.map(|node| node.kind)
            && is_directory == (kind == Kind::Directory)
        {
            return Ok(kind);
        }
        let path = below(&parent.path(), name);
        let seen = (listed.version.clone(), listed.modified);
        if let Some((version, modified, kind)) = lock(&self.kinds).get(&path)
            && (version, modified) == (&seen.0, &seen.1)
        {
            return Ok(*kind);
        }
        let noted = match self.backend.noted(&path, listed.clone()) {
            // It has gone since it was listed, or may not be looked at: the other names are shown all the same.
            Err(failure) if !failure.why.is_passing() => return Ok(kind_of(&listed)),
            noted => self.told(noted)?,
        };
        let kind = kind_of(&noted);
        // Of two that were written at about the same time nobody sees that they are two.
        if !is_directory && seen.1.seconds < Timestamp::now().seconds - SETTLED {
            let mut kinds = lock(&self.kinds);
            if kinds.len() >= self.settings.most_names {
                kinds.clear();
            }
            kinds.insert(path, (seen.0, seen.1, kind));
        }
        Ok(kind)
    }

    /// Everything at and below a path has another one.
    pub(super) fn moved(&self, old: &str, new: &str) {
        let mut known = lock(&self.known);
        let start = format!("{old}/");
        let is_moved = |path: &Arc<str>| &**path == old || path.starts_with(&start);
        let moved: Vec<Arc<str>> =
            known.paths.keys().filter(|path| is_moved(path)).cloned().collect();
        for path in moved {
            let Some(number) = known.paths.remove(&path) else { continue };
            let rest = path.strip_prefix(old).unwrap_or_default();
            let now: Arc<str> = format!("{new}{rest}").into();
            if let Some(node) = self.nodes.get(number) {
                node.add_path(&now);
                node.drop_path(&path);
                // What was copied may have another version, which is looked at with the next lookup.
                if node.kind != Kind::Directory {
                    write(&node.state).until = Instant::now();
                }
            }
            known.paths.insert(now, number);
        }
    }
}

/// The path of a name: text, as the other side has it.
pub(super) fn path_of(parent: &Node, name: Name<'_>) -> Result<String> {
    let name = std::str::from_utf8(name.as_bytes()).map_err(|_| Errno::ILSEQ)?;
    if name.chars().any(char::is_control) {
        return Err(Errno::ILSEQ.into());
    }
    Ok(below(&parent.path(), name))
}

/// After so many seconds what is written next has another time.
const SETTLED: i64 = 10;
