//! Several names of one object: the first is its own, each further one an empty object that says which that is. The object
//! lists all of its names, so a name that somebody else made leads nowhere. Each change is made in an order in which a
//! request that fails loses nothing: a name too many is listed rather than one too few.

use std::cell::RefCell;

use vfs::Timestamp;

use super::{Objects, changed_now, key};
use crate::backend::{Meta, Mode};
use crate::failure::{Failure, Why};
use crate::hash::{base64, from_base64, hex, sha256};
use crate::notes::Notes;

/// What an object is to others of the same file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Linked {
    /// It has one name.
    #[default]
    Alone,
    /// It has these, its own first.
    Names {
        /// By which the file is known whatever its names are.
        id: String,
        /// At least its own.
        keys: Vec<String>,
    },
    /// It is a name of another object.
    NameOf {
        /// Of that one.
        id: String,
        /// Its own name.
        first: String,
    },
}

impl Linked {
    /// The only text of this; none of what is alone.
    pub(crate) fn encode(&self) -> Option<String> {
        let written = |key: &String| format!(";{}", base64(key.as_bytes()));
        match self {
            Self::Alone => None,
            Self::Names { id, keys } => {
                Some(format!("names;{id}{}", keys.iter().map(written).collect::<String>()))
            }
            Self::NameOf { id, first } => Some(format!("of;{id}{}", written(first))),
        }
    }

    /// What a text says of the object that has it.
    pub(crate) fn parse(text: &str, own: &str) -> Option<Self> {
        let mut fields = text.split(';');
        let (word, id) = (fields.next()?, fields.next()?.to_owned());
        let keys: Option<Vec<String>> =
            fields.map(|field| String::from_utf8(from_base64(field)?).ok()).collect();
        let keys = keys?;
        let linked = match (word, &*keys) {
            // A copy that somebody made of the object is another one.
            ("names", [first, ..]) if first == own => Self::Names { id, keys },
            ("of", [first]) if first != own => Self::NameOf { id, first: first.clone() },
            _ => return None,
        };
        (linked.encode().as_deref() == Some(text)).then_some(linked)
    }

    /// By which the file is known that has this object.
    pub(crate) fn id(&self) -> &str {
        if let Self::Names { id, .. } = self { id } else { "" }
    }

    /// How many names there are beside the first.
    pub(crate) fn further_names(&self) -> u32 {
        let Self::Names { keys, .. } = self else { return 0 };
        u32::try_from(keys.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

fn linked(meta: &Meta) -> Linked {
    meta.notes.as_ref().map(|notes| notes.linked.clone()).unwrap_or_default()
}

fn failed(action: &str, key: &str, why: Why) -> Failure {
    Failure { action: format!("{action} `{key}`"), why }
}

/// What a name leads to: the object, and its own name.
pub(super) fn resolved(
    store: &impl Objects,
    key: &str,
    found: Meta,
) -> Result<(String, Meta), Failure> {
    let Linked::NameOf { id, first } = linked(&found) else { return Ok((key.to_owned(), found)) };
    let is_inside = first
        .strip_prefix(store.prefix())
        .is_some_and(|rest| store.prefix().is_empty() || rest.starts_with('/'));
    match is_inside.then(|| store.look(&first)) {
        Some(Ok(file)) if names(&file, &id).is_some_and(|keys| keys.iter().any(|it| it == key)) => {
            Ok((first, file))
        }
        Some(Err(failure)) if failure.why != Why::Missing => Err(failure),
        // It is an empty object, and nothing else.
        _ => Ok((key.to_owned(), found)),
    }
}

fn names(file: &Meta, of: &str) -> Option<Vec<String>> {
    match linked(file) {
        Linked::Names { id, keys } if id == of => Some(keys),
        _ => None,
    }
}

/// Where the object is that is known, which may have got another name.
pub(super) fn place(store: &impl Objects, path: &str, known: &Meta) -> Result<String, Failure> {
    let own = key(store, path);
    if known.id.is_empty() {
        return Ok(own);
    }
    let others = names(known, &known.id).unwrap_or_default();
    for key in std::iter::once(&own).chain(&others) {
        match store.look(key).and_then(|found| resolved(store, key, found)) {
            Ok((first, file)) if file.id == known.id => return Ok(first),
            Err(failure) if failure.why != Why::Missing => return Err(failure),
            _ => {}
        }
    }
    Err(failed("find", &own, Why::Missing))
}

/// Notes with other names.
fn with(notes: Option<Notes>, id: &str, keys: Vec<String>) -> Option<Notes> {
    let linked = Linked::Names { id: id.to_owned(), keys };
    let further_names = linked.further_names();
    let changed = Some(Timestamp::now());
    Some(Notes { linked, further_names, changed, ..notes.unwrap_or_default() })
}

/// Lists other names of an object that is known.
fn relist(
    store: &impl Objects,
    first: &str,
    id: &str,
    change: &dyn Fn(Vec<String>) -> Vec<String>,
) -> Result<Meta, Failure> {
    let file = store.look(first)?;
    let keys = names(&file, id).ok_or_else(|| failed("link", first, Why::Changed))?;
    let keys = change(keys);
    store.copy(first, &file, first, &|notes| with(notes, id, keys.clone()))
}

fn put_name(
    store: &impl Objects,
    key: &str,
    mode: Mode,
    id: &str,
    first: &str,
) -> Result<(), Failure> {
    let linked = Linked::NameOf { id: id.to_owned(), first: first.to_owned() };
    store.put(key, b"", mode, Some(&Notes { linked, ..Notes::default() })).map(drop)
}

/// Gives an object one more name.
pub(super) fn add(
    store: &impl Objects,
    path: &str,
    known: &Meta,
    to: &str,
) -> Result<Meta, Failure> {
    let (first, to) = (place(store, path, known)?, key(store, to));
    let file = store.look(&first)?;
    let (id, mut keys) = match linked(&file) {
        Linked::Names { id, keys } => (id, keys),
        _ => {
            let text = format!("{first} {} {:?}", file.version, Timestamp::now());
            let hash = hex(&sha256(text.as_bytes()));
            (hash.get(..32).unwrap_or_default().to_owned(), vec![first.clone()])
        }
    };
    keys.push(to.clone());
    // The copy is younger than the contents.
    let modified = file.modified;
    let change = |notes: Option<Notes>| {
        let notes = notes.unwrap_or(Notes { modified: Some(modified), ..Notes::default() });
        with(Some(notes), &id, keys.clone())
    };
    let file = store.copy(&first, &file, &first, &change).map_err(|failure| match failure.why {
        Why::TooMuchNoted => Failure { why: Why::TooManyNames, ..failure },
        _ => failure,
    })?;
    if let Err(failure) = put_name(store, &to, Mode::Create, &id, &first) {
        let is_made = || store.look(&to).is_ok_and(|found| is_name_of(&found, &id, &first));
        if failure.why == Why::Exists && is_made() {
            // The answer that said so was lost.
            return Ok(file);
        }
        // A name too many is listed if this fails too.
        let _listed = relist(store, &first, &id, &|keys| without(keys, &to));
        return Err(failure);
    }
    Ok(file)
}

fn is_name_of(found: &Meta, id: &str, first: &str) -> bool {
    linked(found) == Linked::NameOf { id: id.to_owned(), first: first.to_owned() }
}

fn without(keys: Vec<String>, key: &str) -> Vec<String> {
    keys.into_iter().filter(|known| known != key).collect()
}

/// Puts an object in the place of one of its further names, the others of which lead there. What is left at its own name is
/// another one from then on. Returns none if it has no others.
fn hand_over(store: &impl Objects, own: &str, file: &Meta) -> Result<Option<Meta>, Failure> {
    let Linked::Names { id, keys } = linked(file) else { return Ok(None) };
    let mut others = Vec::new();
    for key in without(keys, own) {
        match store.look(&key).map(|found| linked(&found)) {
            Ok(Linked::NameOf { id: of, first }) if of == id && first == own => others.push(key),
            Err(failure) if failure.why != Why::Missing => return Err(failure),
            // Somebody else took the name.
            _ => {}
        }
    }
    let Some(next) = others.first().cloned() else { return Ok(None) };
    let moved = store.copy(own, file, &next, &|notes| with(notes, &id, others.clone()))?;
    for other in others.iter().skip(1) {
        put_name(store, other, Mode::Replace, &id, &next)?;
    }
    Ok(Some(Meta { id, ..moved }))
}

/// Takes a name away. Returns what is known of a file that has others.
pub(super) fn remove(store: &impl Objects, own: &str) -> Result<Option<Meta>, Failure> {
    let found = match store.look(own) {
        Err(Failure { why: Why::Missing, .. }) => return Ok(None),
        found => found?,
    };
    let (first, file) = resolved(store, own, found)?;
    if first != own {
        store.delete(own)?;
        return relist(store, &first, &file.id, &|keys| without(keys, own)).map(Some);
    }
    let left = hand_over(store, own, &file)?;
    store.delete(own).map(|()| left)
}

/// Gives a name to what has another one. Returns what is known of a file that had the name, and has others.
pub(super) fn rename(
    store: &impl Objects,
    from: &str,
    known: &Meta,
    to: &str,
) -> Result<Option<Meta>, Failure> {
    let replaced = match store.look(to) {
        Err(Failure { why: Why::Missing, .. }) => None,
        found => Some(resolved(store, to, found?)?),
    };
    let left = match &replaced {
        Some((first, file)) if first == to => hand_over(store, to, file)?,
        _ => None,
    };
    let found = store.look(from)?;
    let (first, file) = resolved(store, from, found)?;
    if file.id != known.id {
        return Err(failed("rename", from, Why::Changed));
    }
    if first == from {
        move_object(store, from, known, to, &file)?;
    } else {
        let id = &file.id;
        let more =
            |keys: Vec<String>| without(keys, to).into_iter().chain([to.to_owned()]).collect();
        relist(store, &first, id, &more)?;
        put_name(store, to, Mode::Replace, id, &first)?;
        store.delete(from)?;
        relist(store, &first, id, &|keys| without(keys, from))?;
    }
    match replaced {
        Some((first, file)) if first != to => {
            relist(store, &first, &file.id, &|keys| without(keys, to)).map(Some)
        }
        _ => Ok(left),
    }
}

fn move_object(
    store: &impl Objects,
    from: &str,
    known: &Meta,
    to: &str,
    file: &Meta,
) -> Result<(), Failure> {
    let Linked::Names { id, keys } = linked(file) else {
        store.copy(from, known, to, &changed_now)?;
        return store.delete(from);
    };
    let others = without(without(keys, from), to);
    let keys: Vec<String> = std::iter::once(to.to_owned()).chain(others.clone()).collect();
    store.copy(from, known, to, &|notes| with(notes, &id, keys.clone()))?;
    for other in &others {
        put_name(store, other, Mode::Replace, &id, to)?;
    }
    store.delete(from)
}

/// Names that a renamed directory changes outside of it.
#[derive(Default)]
pub(super) struct Outside {
    /// Further names: each with the id and the own name that its object has now.
    further: RefCell<Vec<(String, String, String)>>,
    /// Objects that have names in the directory: own name, id, and the name before and now.
    firsts: RefCell<Vec<(String, String, String, String)>>,
}

impl Outside {
    /// What is noted of an object that moves with its directory.
    pub(super) fn moved(&self, notes: Notes, key: &str, old: &str, new: &str) -> Notes {
        let now = |key: &str| key.strip_prefix(old).map(|rest| format!("{new}{rest}"));
        let linked = match &notes.linked {
            Linked::Alone => Linked::Alone,
            Linked::Names { id, keys } => {
                let first = now(key).unwrap_or_default();
                let outside = keys.iter().filter(|key| now(key).is_none());
                let further = outside.map(|key| (key.clone(), id.clone(), first.clone()));
                self.further.borrow_mut().extend(further);
                let keys = keys.iter().map(|key| now(key).unwrap_or_else(|| key.clone()));
                Linked::Names { id: id.clone(), keys: keys.collect() }
            }
            Linked::NameOf { id, first } => {
                if now(first).is_none() {
                    let names = (key.to_owned(), now(key).unwrap_or_default());
                    let first = (first.clone(), id.clone(), names.0, names.1);
                    self.firsts.borrow_mut().push(first);
                }
                let first = now(first).unwrap_or_else(|| first.clone());
                Linked::NameOf { id: id.clone(), first }
            }
        };
        Notes { linked, ..notes }
    }

    /// Changes them, after everything is there under its new name.
    pub(super) fn change(&self, store: &impl Objects) -> Result<(), Failure> {
        for (key, id, first) in self.further.borrow().iter() {
            let found = store.look(key).map(|found| linked(&found));
            if matches!(found, Ok(Linked::NameOf { id: of, .. }) if of == *id) {
                put_name(store, key, Mode::Replace, id, first)?;
            }
        }
        for (first, id, before, now) in self.firsts.borrow().iter() {
            let other = |key: String| if key == *before { now.clone() } else { key };
            let done = relist(store, first, id, &|keys| keys.into_iter().map(other).collect());
            match done {
                // It led nowhere before.
                Err(Failure { why: Why::Missing | Why::Changed, .. }) => {}
                done => drop(done?),
            }
        }
        Ok(())
    }
}
