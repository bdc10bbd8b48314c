//! What a person names: a path of a session, or of a source. Text to data; opens nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use plan::{RemoteStore, WrittenFrom};
use policy::shown::shown;
use session::SessionId;

use crate::error::FilesError;

#[cfg(test)]
mod tests;

/// A path in some tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whose.
    pub of: Of,
    /// Which path in it; one without a slash in front is below what the tree begins with.
    pub path: Vec<u8>,
}

/// Whose files are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// A session's.
    Session(SessionId),
    /// A directory of the host.
    Directory(PathBuf),
    /// A store in a file.
    Store(PathBuf),
    /// A store far away.
    Remote(RemoteStore),
}

impl Address {
    /// Reads `SESSION:PATH`, `dir:DIRECTORY[:PATH]`, `store:FILE[:PATH]`, `s3://BUCKET/PATH`, `gs://…`, `az://…` or
    /// `gdrive:FOLDER[:PATH]`. A colon in a directory or file is written `\:`.
    ///
    /// # Errors
    /// It is none of them.
    pub fn parse(text: &OsStr) -> Result<Self, FilesError> {
        let bytes = text.as_bytes();
        let unknown = || FilesError::Address(shown(text.display()).to_string());
        let colon = bytes.iter().position(|byte| *byte == b':').ok_or_else(unknown)?;
        let (kind, rest) = bytes.split_at(colon);
        let rest = rest.get(1..).unwrap_or_default();
        match kind {
            b"dir" | b"store" => {
                let (place, path) = split(rest);
                if place.is_empty() {
                    return Err(unknown());
                }
                let place = PathBuf::from(OsStr::from_bytes(&place));
                let of = match kind {
                    b"dir" => Of::Directory(place),
                    _ => Of::Store(place),
                };
                Ok(Self { of, path })
            }
            b"memory" | b"overlay" => Err(FilesError::NotKept(shown(text.display()).to_string())),
            b"gdrive" => {
                let (folder, path) = split(rest);
                let folder = String::from_utf8(folder).map_err(|_| unknown())?;
                Self::remote(&format!("gdrive:{folder}"), path, &unknown)
            }
            b"s3" | b"gs" | b"az" if rest.starts_with(b"//") => {
                let rest = rest.get(2..).unwrap_or_default();
                let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
                let (bucket, path) = rest.split_at(end);
                let text = [kind, b"://", bucket].concat();
                let text = String::from_utf8(text).map_err(|_| unknown())?;
                Self::remote(&text, path.to_vec(), &unknown)
            }
            name => {
                let name = std::str::from_utf8(name).map_err(|_| unknown())?;
                let id = SessionId::parse(name).map_err(|_| unknown())?;
                Ok(Self { of: Of::Session(id), path: rest.to_vec() })
            }
        }
    }

    fn remote(
        text: &str,
        path: Vec<u8>,
        unknown: &dyn Fn() -> FilesError,
    ) -> Result<Self, FilesError> {
        match WrittenFrom::parse(text) {
            Ok(WrittenFrom::Remote(store)) => Ok(Self { of: Of::Remote(store), path }),
            Ok(
                WrittenFrom::Memory
                | WrittenFrom::Directory(_)
                | WrittenFrom::Store(_)
                | WrittenFrom::Inside(_),
            ) => Err(unknown()),
            Err(why) => Err(FilesError::Source { text: shown(text).to_string(), why }),
        }
    }

    /// Whether a word can be one: it has a colon before any slash, as no name of a local file that is written `./NAME` has.
    pub fn is_meant_by(text: &OsStr) -> bool {
        let bytes = text.as_bytes();
        let end = bytes.iter().position(|byte| *byte == b'/').unwrap_or(bytes.len());
        bytes.get(..end).is_some_and(|first| first.contains(&b':'))
    }
}

/// A place and the path in it, with a colon between. `\:` is a colon of the place, `\\` a backslash.
fn split(text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut place = Vec::new();
    let mut rest = text;
    loop {
        rest = match rest {
            [b'\\', escaped @ (b'\\' | b':'), rest @ ..] => {
                place.push(*escaped);
                rest
            }
            [b':', path @ ..] => return (place, path.to_vec()),
            [byte, rest @ ..] => {
                place.push(*byte);
                rest
            }
            [] => return (place, Vec::new()),
        };
    }
}
