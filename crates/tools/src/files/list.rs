//! `list`: what is in a directory.

use rustix::fs::{AtFlags, FileType, readlinkat, statat};

use crate::error::ToolError;
use crate::files::PATH;
use crate::parameters::{Given, Kind, Parameter, optional};
use crate::tool::{Call, Needs, Tool};
use crate::traverse::{Go, MOST_DEPTH, Walk, walk};

pub(crate) struct List;

impl Tool for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn doc(&self) -> &'static str {
        "Shows what is in a directory: directories end with a slash, files have their size, links their target. \
         `depth` shows directories below it too."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                optional("path", PATH, "The directory; the working directory if it is left out."),
                optional(
                    "depth",
                    Kind::Number(1, MOST_DEPTH as u64),
                    "How many levels to show; 1 if it is left out.",
                ),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let path = given.maybe_text("path").unwrap_or(".");
        let directory = call.world.root.directory(path)?;
        let depth = given.number("depth").unwrap_or(1);
        let how = Walk { depth: usize::try_from(depth).unwrap_or(1), skips: depth > 1 };
        let (mut shown, mut count) = (String::new(), 0);
        walk(directory, path, how, call, &mut |path, entry, within| {
            count += 1;
            if count > MOST {
                return Ok(Go::Stop);
            }
            let name = entry.name.as_str();
            let more = match entry.kind {
                FileType::Directory => "/".to_owned(),
                FileType::RegularFile => statat(within, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or_else(|_| String::new(), |stat| format!("  {}", stat.st_size)),
                FileType::Symlink => readlinkat(within, name, Vec::new()).map_or_else(
                    |_| String::new(),
                    |target| format!(" -> {}", target.to_string_lossy()),
                ),
                other => format!("  ({other:?})"),
            };
            shown.push_str(&format!("{path}{more}\n"));
            Ok(Go::On)
        })?;
        if count > MOST {
            shown.push_str(&format!("[more than {MOST}: list a directory below, or use `find`]\n"));
        }
        Ok(if shown.is_empty() { format!("`{path}` is empty") } else { shown })
    }
}

const MOST: usize = 2000;
