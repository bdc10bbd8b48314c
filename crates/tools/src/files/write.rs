//! `write`: a whole file, new or replaced.

use crate::error::{ErrorKind, ToolError};
use crate::files::PATH;
use crate::parameters::{Given, Kind, Parameter, required};
use crate::tool::{Call, Needs, Tool};

pub(crate) struct Write;

impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn doc(&self) -> &'static str {
        "Writes a whole file, and makes the directories above it. Replaces what was there: to change a part, use `edit`."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("path", PATH, "The file."),
                required("content", Kind::Text(1 << 20), "All that is in it afterwards."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Write
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let (path, content) = (given.text("path"), given.text("content"));
        let (mut opened, done) = match call.world.root.change(path) {
            Ok(opened) => (opened, "replaced"),
            Err(error) if error.kind == ErrorKind::Missing => (call.world.root.make(path)?, "made"),
            Err(error) => return Err(error),
        };
        opened.replace(content.as_bytes())?;
        Ok(format!("{done} `{path}`: {} lines, {} bytes", content.lines().count(), content.len()))
    }
}
