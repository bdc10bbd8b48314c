//! Finding out which new file is one that was deleted elsewhere: by identical content, then by the lines that both
//! have. A way to show changes, not a fact about them; bounded in files, bytes and pairs. Reads only.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rustix::io::Errno;

use crate::beneath::Root;
use crate::change::{Change, Changes, Conflict, What};
use crate::content;
use crate::object::Kind;
use crate::path::TreePath;

/// Turns pairs of a deleted and an added file into renames.
pub(crate) fn find(changes: &mut Changes, host: &Root, upper: &Root) {
    let mut search = Search {
        list: &changes.list,
        host,
        upper,
        bytes: MOST_BYTES,
        pairs: Vec::new(),
        paired: HashSet::new(),
    };
    search.identical();
    search.similar();
    let pairs = search.pairs;
    let mut taken: HashMap<usize, Change> = HashMap::new();
    for (deleted, _) in &pairs {
        taken.extend(changes.list.get(*deleted).cloned().map(|change| (*deleted, change)));
    }
    for (deleted, added) in pairs {
        let Some((from, to)) = taken.get(&deleted).zip(changes.list.get_mut(added)) else {
            continue;
        };
        to.what = What::Renamed { from: from.path.clone() };
        to.before = from.before;
        // It has not gone from the host: it has its former name there.
        to.conflict = to.conflict.filter(|why| *why != Conflict::Gone).or(from.conflict);
        to.protected = to.protected.or(from.protected);
    }
    let mut index = 0..;
    changes.list.retain(|_| index.next().is_none_or(|index| !taken.contains_key(&index)));
}

struct Search<'changes> {
    list: &'changes [Change],
    host: &'changes Root,
    upper: &'changes Root,
    /// How much may still be read.
    bytes: u64,
    /// Deleted and added, by their place in the list.
    pairs: Vec<(usize, usize)>,
    /// Both.
    paired: HashSet<usize>,
}

/// The lines of a text: hash and length, sorted.
type Signature = Vec<(u64, usize)>;

impl Search<'_> {
    fn identical(&mut self) {
        let mut by_size: HashMap<u64, Vec<usize>> = HashMap::new();
        for (index, size) in self.files(&What::Deleted) {
            by_size.entry(size).or_default().push(index);
        }
        let mut hashes: HashMap<usize, [u8; 32]> = HashMap::new();
        for (added, size) in self.files(&What::Added) {
            let Some(candidates) = by_size.get_mut(&size) else { continue };
            let Some(wanted) = self.hash(added, size) else { continue };
            let mut same = Vec::new();
            for candidate in candidates.iter().take(MOST_CANDIDATES) {
                let hash = hashes.get(candidate).copied().or_else(|| self.hash(*candidate, size));
                hashes.extend(hash.map(|hash| (*candidate, hash)));
                if hash == Some(wanted) {
                    same.push(*candidate);
                }
            }
            let named_alike = same.iter().find(|deleted| self.name(**deleted) == self.name(added));
            if let Some(deleted) = named_alike.or(same.first()).copied() {
                self.pair(deleted, added);
                candidates.retain(|candidate| *candidate != deleted);
            }
        }
    }

    fn similar(&mut self) {
        let deleted = self.signatures(&What::Deleted);
        let added = self.signatures(&What::Added);
        let mut scored: Vec<(u64, usize, usize)> = Vec::new();
        for (from, before, size_before) in &deleted {
            for (to, after, size_after) in &added {
                let larger = (*size_before).max(*size_after);
                let smaller = (*size_before).min(*size_after);
                if smaller * 2 <= larger {
                    continue;
                }
                let score = common(before, after).saturating_mul(100) / larger.max(1);
                if score > ALIKE {
                    scored.push((score, *from, *to));
                }
            }
        }
        scored.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
        for (_, from, to) in scored {
            if !self.paired.contains(&from) && !self.paired.contains(&to) {
                self.pair(from, to);
            }
        }
    }

    /// Files that were added or deleted and have no partner yet, with their sizes. Empty ones are all alike.
    fn files(&self, what: &What) -> Vec<(usize, u64)> {
        let changes = self.list.iter().enumerate().filter(|(_, change)| change.what == *what);
        let files = changes.filter_map(|(index, change)| {
            let object = change.after.or(change.before)?;
            (object.kind == Kind::File && object.size > 0).then_some((index, object.size))
        });
        files.filter(|(index, _)| !self.paired.contains(index)).collect()
    }

    fn pair(&mut self, deleted: usize, added: usize) {
        self.pairs.push((deleted, added));
        self.paired.extend([deleted, added]);
    }

    fn signatures(&mut self, what: &What) -> Vec<(usize, Signature, u64)> {
        let files = self.files(what);
        let small = files.into_iter().filter(|(_, size)| *size <= MOST_TEXT);
        let mut found = Vec::new();
        for (index, size) in small.take(MOST_CANDIDATES).collect::<Vec<_>>() {
            let text = self
                .read(index, size, |directory, name| content::whole(directory, name, MOST_TEXT));
            let text = text.flatten().filter(|text| content::is_text(text));
            found.extend(text.map(|text| (index, signature(&text), size)));
        }
        found
    }

    fn hash(&mut self, index: usize, size: u64) -> Option<[u8; 32]> {
        self.read(index, size, content::hash)
    }

    /// Reads one file, if the bounds allow; one that cannot be read has no partner.
    fn read<T>(
        &mut self,
        index: usize,
        size: u64,
        read: impl FnOnce(std::os::fd::BorrowedFd<'_>, &[u8]) -> Result<T, Errno>,
    ) -> Option<T> {
        self.bytes = self.bytes.checked_sub(size)?;
        let change = self.list.get(index)?;
        let root = if change.after.is_some() { self.upper } else { self.host };
        let (parent, name) = root.parent(&change.path).ok()?;
        read(std::os::fd::AsFd::as_fd(&parent), name).ok()
    }

    fn name(&self, index: usize) -> Option<Vec<u8>> {
        let path: &TreePath = &self.list.get(index)?.path;
        path.split().map(|(_, name)| name.to_vec())
    }
}

fn signature(text: &[u8]) -> Signature {
    let mut lines: Signature = text
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            (hasher.finish(), line.len())
        })
        .collect();
    lines.sort_unstable();
    lines
}

/// How many bytes lie in lines that both have.
fn common(one: &Signature, other: &Signature) -> u64 {
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    let mut bytes = 0_u64;
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                bytes += u64::try_from(a.1).unwrap_or_default();
                left.next();
                right.next();
            }
        }
    }
    bytes
}

/// In per cent.
const ALIKE: u64 = 50;

/// How many files of either kind are compared with each other.
const MOST_CANDIDATES: usize = 200;

/// The most bytes that are read in search of renames.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// The largest file that is compared by lines.
const MOST_TEXT: u64 = 1024 * 1024;
