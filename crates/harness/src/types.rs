//! What a type of agent has where no flag says otherwise: `agents/NAME.toml` beside the configuration, next to its prompt.
//! Only the person's own files: no project says which tools, paths or hosts an agent gets.

use std::path::PathBuf;

use advice::Failure;
use cage::Kind;
use cage::state::Locations;
use policy::shown::shown;
use serde::Deserialize;

use crate::arguments::{CommonArguments, duration};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Whose prompt and tools it has, where it has none of its own.
    #[serde(rename = "type")]
    kind: Option<String>,
    tools: Option<Vec<String>>,
    model: Option<String>,
    temperature: Option<f64>,
    steps: Option<u32>,
    tokens: Option<u64>,
    time: Option<String>,
    children: Option<u32>,
    code: Option<bool>,
    mcp: Option<Vec<String>>,
    services: Option<Vec<String>>,
    cage: Option<String>,
    profile: Option<String>,
    ro: Option<Vec<PathBuf>>,
    rw: Option<Vec<PathBuf>>,
    cow: Option<Vec<PathBuf>>,
    net: Option<Vec<String>>,
}

/// The flags, with what their type says where they say nothing.
pub(crate) fn completed(arguments: &CommonArguments) -> Result<CommonArguments, Failure> {
    let mut arguments = arguments.clone();
    let locations = Locations::of_this_process();
    let Some(directory) = crate::work::prompts_beside(&locations) else { return Ok(arguments) };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if arguments.kind.is_empty() || !arguments.kind.bytes().all(is_plain) {
        return Ok(arguments);
    }
    let path = directory.join(format!("{}.toml", arguments.kind));
    let failed = |why: String| {
        let path = shown(path.display());
        Failure::new(Kind::PolicyInvalid, format!("`{path}`: {}", shown(why)))
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(arguments),
        Err(error) => return Err(failed(error.to_string())),
    };
    let has_prompt = directory.join(format!("{}.md", arguments.kind)).exists();
    complete(&mut arguments, &text, has_prompt).map_err(failed)?;
    Ok(arguments)
}

fn complete(arguments: &mut CommonArguments, text: &str, has_prompt: bool) -> Result<(), String> {
    let written: Written = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    if written.temperature.is_some_and(|number| !(0.0..=2.0).contains(&number)) {
        return Err("`temperature` is a number from 0.0 to 2.0".to_owned());
    }
    if written.children.is_some_and(|levels| levels > MOST_LEVELS) {
        return Err(format!("`children` is at most {MOST_LEVELS}"));
    }
    let time = written.time.as_deref().map(duration).transpose()?;
    fn fill<T>(flag: &mut Vec<T>, written: Option<Vec<T>>) {
        if flag.is_empty() {
            *flag = written.unwrap_or_default();
        }
    }
    let cage = &mut arguments.cage;
    fill(&mut cage.ro, written.ro);
    fill(&mut cage.rw, written.rw);
    fill(&mut cage.cow, written.cow);
    fill(&mut cage.net, written.net);
    if cage.name.is_none() && cage.profile.is_none() {
        (cage.name, cage.profile) = (written.cage, written.profile);
    }
    let kind = written.kind.unwrap_or_else(|| arguments.kind.clone());
    if arguments.tools.is_empty() && written.tools.is_none() {
        arguments.tools = agent::Prompts::tools(&kind);
    }
    fill(&mut arguments.tools, written.tools);
    fill(&mut arguments.mcp, written.mcp);
    fill(&mut arguments.services, written.services);
    if !has_prompt {
        arguments.kind = kind;
    }
    arguments.model = arguments.model.take().or(written.model);
    arguments.temperature = arguments.temperature.or(written.temperature);
    arguments.steps = arguments.steps.or(written.steps);
    arguments.tokens = arguments.tokens.or(written.tokens);
    arguments.time = arguments.time.or(time);
    arguments.code |= written.code.unwrap_or_default();
    arguments.children = arguments.children.or(written.children);
    Ok(())
}

pub(crate) const MOST_LEVELS: u32 = 4;

#[cfg(test)]
mod tests;
