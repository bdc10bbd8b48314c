//! `find`: files and directories whose names fit a pattern.

use rustix::fs::FileType;

use crate::error::{ErrorKind, ToolError};
use crate::files::PATH;
use crate::glob::Glob;
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};
use crate::traverse::{Go, MOST_DEPTH, SKIPPED, Walk, walk};

pub(crate) struct Find;

impl Tool for Find {
    fn name(&self) -> &'static str {
        "find"
    }

    fn doc(&self) -> &'static str {
        "Finds files and directories by a pattern such as `*.rs`, `src/**/*.{ts,tsx}` or `**/test_*`. Without a slash \
         the pattern is about names at any depth. `.git`, `node_modules`, `target` and the like are left out unless \
         `everything` is given."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("pattern", Kind::Text(1000), "The pattern."),
                optional("path", PATH, "Where to look; the working directory if it is left out."),
                optional(
                    "everything",
                    Kind::Flag,
                    "Whether to look into directories that are left out otherwise.",
                ),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let path = given.maybe_text("path").unwrap_or(".");
        let pattern = given.text("pattern");
        let glob = Glob::read(pattern).map_err(|why| {
            ToolError::new(ErrorKind::Arguments, format!("`{pattern}` is no pattern: {why}"))
        })?;
        let directory = call.world.root.directory(path)?;
        let how = Walk { depth: MOST_DEPTH, skips: !given.flag("everything") };
        let (mut found, mut count) = (String::new(), 0);
        walk(directory, path, how, call, &mut |path, entry, _| {
            if glob.fits(path) {
                count += 1;
                if count > MOST {
                    return Ok(Go::Stop);
                }
                let slash = if entry.kind == FileType::Directory { "/" } else { "" };
                found.push_str(&format!("{path}{slash}\n"));
            }
            Ok(Go::On)
        })?;
        if count > MOST {
            found.push_str(&format!("[more than {MOST}: make the pattern narrower]\n"));
        }
        match found.is_empty() {
            true if how.skips => Ok(format!(
                "nothing in `{path}` fits `{pattern}` ({} are left out)",
                SKIPPED.join(", ")
            )),
            true => Ok(format!("nothing in `{path}` fits `{pattern}`")),
            false => Ok(found),
        }
    }
}

const MOST: usize = 1000;
