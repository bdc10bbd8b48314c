//! What a name leads to through all layers, and which nodes are known.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use rustix::io::Errno;

use super::notes::is_whiteout;
use super::{Node, OPAQUE, Overlay, Place, Seat, lock, shown_number};
use crate::attributes::{Attributes, Kind};
use crate::caller::Caller;
use crate::engine::{Engine, Entry, Inode};
use crate::error::Result;
use crate::name::Name;
use crate::table::read;

/// Which node a file of a layer is: by its layer, the upper one being none, and inode there.
#[derive(Debug)]
pub(super) struct Known(Mutex<HashMap<(Option<usize>, Inode), u64>>);

impl Known {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    pub(super) fn put(&self, layer: Option<usize>, inode: Inode, number: u64) {
        lock(&self.0).insert((layer, inode), number);
    }
}

/// What a name leads to, held.
pub(super) struct Found {
    pub(super) node: Arc<Node>,
    /// The inode of the upper layer that has the name, if one has.
    pub(super) upper: Option<Inode>,
    /// As the uppermost layer that has the name tells them.
    pub(super) attributes: Attributes,
}

/// One name of a merged listing.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) name: Box<[u8]>,
    pub(super) number: u64,
    pub(super) kind: Kind,
}

impl Overlay {
    /// Finds what a name leads to, holds it, and says which inode of the upper layer has the name, if one has.
    pub(super) fn find(
        &self,
        parent: &Arc<Node>,
        name: Name<'_>,
    ) -> Result<(Arc<Node>, Option<Inode>)> {
        self.find_known(parent, name).map(|Found { node, upper, .. }| (node, upper))
    }

    /// The same with what its uppermost layer has told of it.
    pub(super) fn find_known(&self, parent: &Arc<Node>, name: Name<'_>) -> Result<Found> {
        let caller = Caller::root();
        let place = read(&parent.place).clone();
        let mut found = Place::default();
        let mut kind = None;
        let mut attributes = None;
        let mut links = 1;
        let mut is_hidden = false;
        // What lower layers do not have needs no mark, and never will.
        let has_below = !place.lowers.is_empty();
        let in_names = self.notes_take_names();
        if let Some(upper) = place.upper {
            match self.upper.lookup(&caller, upper, name) {
                Ok(entry) if is_whiteout(&entry.attributes) => {
                    self.upper.forget(entry.inode, 1);
                    return Err(Errno::NOENT.into());
                }
                Ok(entry) => {
                    found.upper = Some(entry.inode);
                    kind = Some(entry.attributes.kind);
                    attributes = Some(entry.attributes);
                    let is_directory = entry.attributes.kind == Kind::Directory;
                    // A name that was hidden stays so: a directory that was made in its place and not marked yet, when
                    // an earlier process ended, does not show what it replaced.
                    is_hidden = !is_directory
                        || (has_below
                            && (self.marks()?.has(entry.inode, OPAQUE)?
                                || (!in_names && self.marks()?.has(upper, name.as_bytes())?)));
                }
                Err(error) if error.errno == Errno::NOENT => {
                    is_hidden =
                        has_below && !in_names && self.marks()?.has(upper, name.as_bytes())?;
                }
                Err(error) => return Err(error),
            }
        }
        for (layer, inode) in place.lowers.iter().filter(|_| !is_hidden) {
            let lower = self.lower(*layer)?;
            match lower.lookup(&caller, *inode, name) {
                // It was an upper layer itself, and hides what is below it.
                Ok(entry) if is_whiteout(&entry.attributes) => {
                    lower.forget(entry.inode, 1);
                    break;
                }
                Ok(entry) => {
                    let this = entry.attributes.kind;
                    // A file hides what is below it, and is hidden by a directory.
                    if kind.is_some() && this != Kind::Directory {
                        lower.forget(entry.inode, 1);
                        break;
                    }
                    found.lowers.push((*layer, entry.inode));
                    kind = Some(this);
                    attributes.get_or_insert(entry.attributes);
                    links = entry.attributes.links;
                    if this != Kind::Directory || hides_below(lower, entry.inode) {
                        break;
                    }
                }
                Err(error) if error.errno == Errno::NOENT => {}
                Err(error) => {
                    self.let_go(&found);
                    return Err(error);
                }
            }
        }
        let Some((kind, attributes)) = kind.zip(attributes) else {
            return Err(Errno::NOENT.into());
        };
        let upper = found.upper;
        let node = self.know(parent, name, found, kind, links);
        Ok(Found { node, upper, attributes })
    }

    /// The node of something that was made in the upper layer just now, which is held.
    pub(super) fn made(&self, parent: &Arc<Node>, name: Name<'_>, made: &Entry) -> Arc<Node> {
        let place = Place { upper: Some(made.inode), lowers: Vec::new() };
        self.know(parent, name, place, made.attributes.kind, 1)
    }

    /// The node of something that was found, which is held once more; what was found is held by it, or given back.
    fn know(
        &self,
        parent: &Arc<Node>,
        name: Name<'_>,
        found: Place,
        kind: Kind,
        links: u32,
    ) -> Arc<Node> {
        let key = match (found.upper, found.lowers.first()) {
            (Some(inode), _) => Some((None, inode)),
            (None, Some((layer, inode))) => Some((Some(*layer), *inode)),
            (None, None) => None,
        };
        let mut known = lock(&self.known.0);
        let there = key.and_then(|key| known.get(&key)).and_then(|number| self.nodes.get(*number));
        if let Some(node) = there {
            node.held.fetch_add(1, Ordering::SeqCst);
            drop(known);
            self.let_go(&found);
            let mut seat = lock(&node.seat);
            if seat.is_none() && node.number != self.root.number {
                *seat = Some(self.seat(parent, name));
            }
            return Arc::clone(&node);
        }
        let below = if found.upper.is_none() && kind != Kind::Directory { links } else { 0 };
        let number = self.nodes.next();
        let node = Arc::new(Node {
            number,
            kind,
            place: RwLock::new(found.clone()),
            seat: Mutex::new(Some(self.seat(parent, name))),
            names: Mutex::new(()),
            copying: Mutex::new(()),
            names_below: AtomicU32::new(below),
            is_gone: AtomicBool::new(false),
            held: AtomicU64::new(1),
            is_pinned: AtomicBool::new(false),
            shown: OnceLock::new(),
        });
        self.nodes.put(number, Arc::clone(&node));
        if let Some(key) = key {
            known.insert(key, number);
        }
        node
    }

    /// A place for a node; the directory is held by it.
    pub(super) fn seat(&self, parent: &Arc<Node>, name: Name<'_>) -> Seat {
        parent.held.fetch_add(1, Ordering::SeqCst);
        Seat { parent: Arc::clone(parent), name: name.as_bytes().into() }
    }

    /// Hands out a node that is held.
    pub(super) fn entry(&self, caller: &Caller, node: Arc<Node>) -> Result<Entry> {
        let attributes =
            self.attributes_of(caller, &node).inspect_err(|_| self.give_back(node.number, 1))?;
        Ok(Entry { inode: Inode(node.number), generation: 1, attributes })
    }

    /// The same, without asking again for what was told with its name: unless it was known by another one, and has been
    /// copied up under that.
    pub(super) fn entry_found(&self, caller: &Caller, found: Found) -> Result<Entry> {
        let Found { node, upper, attributes } = found;
        if read(&node.place).upper != upper {
            return self.entry(caller, node);
        }
        let attributes = self.shown(&node, attributes);
        Ok(Entry { inode: Inode(node.number), generation: 1, attributes })
    }

    /// Gives a node back; one that nobody holds is forgotten, unless lower layers would show it wrongly then.
    pub(super) fn give_back(&self, number: u64, count: u64) {
        let (mut number, mut count) = (number, count);
        loop {
            let Some(node) = self.nodes.get(number) else { return };
            let mut known = lock(&self.known.0);
            if node.held.fetch_sub(count, Ordering::SeqCst) != count {
                return;
            }
            let shows_below = node.names_below.load(Ordering::SeqCst) > 0;
            if node.is_pinned.load(Ordering::SeqCst)
                && (shows_below || node.kind == Kind::Directory)
            {
                return;
            }
            let place = read(&node.place).clone();
            known.retain_not(&place, number);
            self.nodes.take(number);
            drop(known);
            self.let_go(&place);
            let Some(seat) = lock(&node.seat).take() else { return };
            (number, count) = (seat.parent.number, 1);
        }
    }

    fn let_go(&self, place: &Place) {
        if let Some(inode) = place.upper {
            self.upper.forget(inode, 1);
        }
        for (layer, inode) in &place.lowers {
            if let Ok(lower) = self.lower(*layer) {
                lower.forget(*inode, 1);
            }
        }
    }

    /// Whether a lower layer has a name of a directory.
    pub(super) fn is_below(&self, parent: &Node, name: Name<'_>) -> Result<bool> {
        let caller = Caller::root();
        for (layer, inode) in &read(&parent.place).lowers {
            let lower = self.lower(*layer)?;
            match lower.lookup(&caller, *inode, name) {
                Ok(entry) => {
                    lower.forget(entry.inode, 1);
                    return Ok(!is_whiteout(&entry.attributes));
                }
                Err(error) if error.errno == Errno::NOENT => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Everything in a directory, through all layers.
    pub(super) fn merged(&self, node: &Node) -> Result<Vec<Merged>> {
        let place = read(&node.place).clone();
        let mut all = Vec::new();
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        let has_below = !place.lowers.is_empty();
        if let Some(upper) = place.upper {
            list(&*self.upper, upper, None, |merged| {
                if has_below {
                    seen.insert(merged.name.clone());
                }
                // No guest makes a device: it is a note.
                if merged.kind != Kind::CharacterDevice {
                    all.push(merged);
                }
            })?;
            if has_below && !self.notes_take_names() {
                let marked = self.marks()?.all(upper)?;
                seen.extend(marked.into_iter().map(Vec::into_boxed_slice));
            }
        }
        for (layer, inode) in &place.lowers {
            let lower = self.lower(*layer)?;
            let mut below = Vec::new();
            list(lower, *inode, Some(*layer), |merged| below.push(merged))?;
            for merged in below {
                if !seen.insert(merged.name.clone()) {
                    continue;
                }
                let hides = merged.kind == Kind::CharacterDevice
                    && is_note_below(lower, *inode, &merged.name)?;
                if !hides {
                    all.push(merged);
                }
            }
        }
        Ok(all)
    }
}

/// Whether a device of a lower layer is a note of an overlay that had it as its upper one.
fn is_note_below(lower: &dyn Engine, directory: Inode, name: &[u8]) -> Result<bool> {
    match lower.lookup(&Caller::root(), directory, Name::new(name)?) {
        Ok(entry) => {
            lower.forget(entry.inode, 1);
            Ok(is_whiteout(&entry.attributes))
        }
        Err(error) if error.errno == Errno::NOENT => Ok(true),
        Err(error) => Err(error),
    }
}

trait RetainNot {
    fn retain_not(&mut self, place: &Place, number: u64);
}

impl RetainNot for HashMap<(Option<usize>, Inode), u64> {
    /// Forgets what led to a node.
    fn retain_not(&mut self, place: &Place, number: u64) {
        let upper = place.upper.map(|inode| (None, inode));
        let lowers = place.lowers.iter().map(|(layer, inode)| (Some(*layer), *inode));
        for key in upper.into_iter().chain(lowers) {
            if self.get(&key) == Some(&number) {
                self.remove(&key);
            }
        }
    }
}

fn list(
    engine: &dyn Engine,
    directory: Inode,
    layer: Option<usize>,
    mut see: impl FnMut(Merged),
) -> Result<()> {
    let handle = engine.open_directory(&Caller::root(), directory)?;
    let listed = engine.read_directory(handle, 0, &mut |listed| {
        if !matches!(listed.name, b"." | b"..") {
            let number = shown_number(listed.number, layer);
            see(Merged { name: listed.name.into(), number, kind: listed.kind });
        }
        true
    });
    engine.release(handle);
    listed
}

/// Whether a directory of a lower layer, which was an upper one itself, hides what lies below it. One that cannot be asked
/// shows nothing from below.
fn hides_below(lower: &dyn Engine, directory: Inode) -> bool {
    let marks = lower.marks().filter(|marks| marks.take_names());
    marks.is_some_and(|marks| marks.has(directory, OPAQUE).unwrap_or(true))
}
