//! Which servers of tools an agent is given: by flags, or by `mcp.toml` beside the configuration. Starts none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use advice::Failure;
use cage::Kind;
use cage::state::Locations;
use policy::shown::shown;
use serde::Deserialize;

use crate::arguments::CageArguments;

/// A server, and what of it an agent may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) command: Vec<OsString>,
    pub(crate) tools: Vec<String>,
    written: Written,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    tools: Vec<String>,
    cage: Option<String>,
    profile: Option<String>,
    #[serde(default)]
    ro: Vec<PathBuf>,
    #[serde(default)]
    rw: Vec<PathBuf>,
    #[serde(default)]
    net: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    server: BTreeMap<String, Written>,
}

impl Wanted {
    /// The servers of `--mcp`, each with a name of its own.
    pub(crate) fn of(flags: &[String], locations: &Locations) -> Result<Vec<Self>, Failure> {
        let text = match flags.iter().any(|flag| !flag.contains('=')) {
            true => read(locations)?,
            false => None,
        };
        of(flags, text.as_deref()).map_err(|why| {
            Failure::new(Kind::Usage, why)
                .help("`--mcp NAME` is a table `[server.NAME]` of `mcp.toml` beside your configuration")
                .help("`--mcp 'NAME:TOOL,TOOL=PROGRAM ARGUMENT…'` needs none")
        })
    }

    /// What its cage is like.
    pub(crate) fn cage(&self, project: Option<PathBuf>) -> CageArguments {
        let Written { cage, profile, ro, rw, net, .. } = self.written.clone();
        CageArguments { project, name: cage, profile, ro, rw, cow: Vec::new(), net, session: None }
    }
}

fn read(locations: &Locations) -> Result<Option<String>, Failure> {
    let path = locations.configuration.as_ref().and_then(|path| path.as_path().parent());
    match path.map(|path| std::fs::read_to_string(path.join(FILE))) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Some(Err(error)) => Err(Failure::new(Kind::PolicyInvalid, format!("`{FILE}`: {error}"))),
    }
}

fn of(flags: &[String], text: Option<&str>) -> Result<Vec<Wanted>, String> {
    let file: File = match text {
        Some(text) => {
            toml::from_str(text).map_err(|error| format!("`{FILE}`: {}", shown(error.message())))?
        }
        None => File::default(),
    };
    let mut servers: Vec<Wanted> = Vec::new();
    for flag in flags {
        let server = match flag.split_once('=') {
            Some((named, command)) => inline(named, command)?,
            None => {
                let written = file.server.get(flag).cloned();
                let written =
                    written.ok_or_else(|| format!("no server `{}` is configured", shown(flag)))?;
                Wanted {
                    name: flag.clone(),
                    command: written.command.iter().map(OsString::from).collect(),
                    tools: written.tools.clone(),
                    written,
                }
            }
        };
        let name = shown(&server.name);
        let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
        if server.name.is_empty() || server.name.len() > 20 || !server.name.bytes().all(is_plain) {
            return Err(format!(
                "`{name}` is no name of a server: letters, digits, `-` and `_`, at most 20"
            ));
        }
        if server.command.is_empty() {
            return Err(format!("server `{name}` has no command"));
        }
        if server.tools.is_empty() {
            return Err(format!("server `{name}` has no tools that may be called: name them"));
        }
        if servers.iter().any(|other| other.name == server.name) {
            return Err(format!("there are two servers `{name}`"));
        }
        servers.push(server);
    }
    Ok(servers)
}

/// `NAME:TOOL,TOOL=PROGRAM ARGUMENT…`
fn inline(named: &str, command: &str) -> Result<Wanted, String> {
    let (name, tools) = named.split_once(':').unwrap_or((named, ""));
    Ok(Wanted {
        name: name.to_owned(),
        command: command.split_whitespace().map(OsString::from).collect(),
        tools: tools.split(',').filter(|tool| !tool.is_empty()).map(str::to_owned).collect(),
        written: Written::default(),
    })
}

const FILE: &str = "mcp.toml";

#[cfg(test)]
mod tests;
