//! `todo`, `plan` and `memory`: what an agent notes for itself. Kept for the session, in memory alone: another agent has
//! its own.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use crate::error::{ErrorKind, ToolError};
use crate::parameters::{Given, Kind, Parameter, optional};
use crate::tool::{Call, Needs, Tool};

/// What was noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    todo: Vec<(String, String)>,
    plan: String,
    memory: BTreeMap<String, String>,
}

fn notes<'a>(call: &'a Call<'_>) -> MutexGuard<'a, Notes> {
    call.world.notes.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Todo;

impl Tool for Todo {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn doc(&self) -> &'static str {
        "Keeps the list of what is to be done. With `items`, replaces the list; shows it either way. A `state` is \
         `open`, `doing` or `done`."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const { &[optional("items", Kind::Items(100, &["text", "state"]), "The whole list.")] }
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let mut items = Vec::new();
        for item in given.items("items", &["text", "state"]) {
            let [text, state] = item.as_slice() else { continue };
            if !["open", "doing", "done"].contains(state) {
                return Err(ToolError::new(
                    ErrorKind::Arguments,
                    format!("`{state}` is no state: `open`, `doing` and `done` are"),
                ));
            }
            items.push(((*text).chars().take(500).collect(), (*state).to_owned()));
        }
        let mut notes = notes(call);
        if !items.is_empty() {
            notes.todo = items;
        }
        let line = |(number, (text, state)): (usize, &(String, String))| {
            format!("{}. [{state}] {text}\n", number + 1)
        };
        let shown: String = notes.todo.iter().enumerate().map(line).collect();
        Ok(if shown.is_empty() { "the list is empty".to_owned() } else { shown })
    }
}

pub(crate) struct Plan;

impl Tool for Plan {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn doc(&self) -> &'static str {
        "Keeps the plan for the task. With `text`, replaces it; shows it either way."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const { &[optional("text", Kind::Text(64 << 10), "The whole plan.")] }
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let mut notes = notes(call);
        if let Some(text) = given.maybe_text("text") {
            text.clone_into(&mut notes.plan);
        }
        Ok(if notes.plan.is_empty() {
            "there is no plan yet".to_owned()
        } else {
            notes.plan.clone()
        })
    }
}

pub(crate) struct Memory;

impl Tool for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn doc(&self) -> &'static str {
        "Keeps notes under names for the rest of the session, also when earlier parts of the conversation are summed \
         up. With `name` and `text`, notes something (an empty `text` forgets it); with `name`, shows that note; with \
         nothing, shows all names."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                optional("name", Kind::Text(200), "The note's name."),
                optional("text", Kind::Text(16 << 10), "What to note."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let mut notes = notes(call);
        let error = |kind, text: String| Err(ToolError::new(kind, text));
        match (given.maybe_text("name"), given.maybe_text("text")) {
            (None, Some(_)) => error(ErrorKind::Arguments, "a note needs a `name`".to_owned()),
            (None, None) if notes.memory.is_empty() => Ok("nothing is noted".to_owned()),
            (None, None) => Ok(notes.memory.keys().map(|name| format!("{name}\n")).collect()),
            (Some(name), None) => match notes.memory.get(name) {
                Some(text) => Ok(text.clone()),
                None => error(ErrorKind::Missing, format!("nothing is noted under `{name}`")),
            },
            (Some(name), Some("")) => {
                notes.memory.remove(name);
                Ok(format!("forgot `{name}`"))
            }
            (Some(name), Some(text)) => {
                if notes.memory.len() >= MOST_NOTES && !notes.memory.contains_key(name) {
                    return error(
                        ErrorKind::TooLarge,
                        format!("{MOST_NOTES} notes are the most: forget one first"),
                    );
                }
                notes.memory.insert(name.to_owned(), text.to_owned());
                Ok(format!("noted `{name}`"))
            }
        }
    }
}

const MOST_NOTES: usize = 200;
