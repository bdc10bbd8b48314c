//! What a request is about: which cage of which project, for a caller who stands where, with which
//! rules of their own. The same words as on the command line lead to the same cage.

use cage::Kind;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use advice::Failure;
use cage::prepare::project::PROJECT_FILE_NAME;
use cage::prepare::{
    Agents, Caller, Choice, PolicyFiles, Sandbox, Selected, Selection, TooBroad, select_from,
};
use plan::HostPath;
use policy::text::WrittenRules;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::request::{object, unknown_field, wrong};

#[cfg(test)]
mod tests;

/// The fields of a request that say which cage is meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Subject {
    /// The project's directory; without it the one that the working directory lies in.
    pub(crate) project: Option<PathBuf>,
    /// A text in place of the project's file.
    policy: Option<String>,
    cage: Option<String>,
    pub(crate) agent: Option<String>,
    /// A profile of the user's or a built-in one, made from this request's environment.
    profile: Option<String>,
    /// What a plugin was given, in place of a cage of the policy; nothing is said of a plugin where
    /// there are none.
    #[serde(deserialize_with = "some_capabilities")]
    capabilities: Vec<String>,
    /// Where the program starts and relative paths begin; the project's directory without it.
    working_directory: Option<PathBuf>,
    /// The environment of which a policy can pass on variables; the daemon's own without it.
    environment: Option<BTreeMap<String, String>>,
    /// Rules of the caller's own, by the names of the flags.
    #[serde(deserialize_with = "object")]
    rules: WrittenRules,
}

/// At least one capability. A plugin that was given none must not get the cage of the policy, which is
/// what a request without the list asks for.
fn some_capabilities<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let capabilities = Vec::deserialize(deserializer)?;
    if capabilities.is_empty() {
        return Err(D::Error::custom("`capabilities` names none"));
    }
    Ok(capabilities)
}

/// The names of the fields of a [`Subject`].
const FIELDS: [&str; 9] = [
    "project",
    "policy",
    "cage",
    "agent",
    "profile",
    CAPABILITIES,
    "working_directory",
    "environment",
    "rules",
];

const CAPABILITIES: &str = "capabilities";

/// Splits a request into what it is about and the rest. Unknown names end up in the rest, which
/// refuses them: a misspelt rule must not be a rule that is not there.
pub(crate) fn split<Rest: DeserializeOwned>(
    mut fields: Map<String, Value>,
) -> Result<(Subject, Rest), Problem> {
    let subject: Map<String, Value> =
        FIELDS.iter().filter_map(|name| fields.remove_entry(*name)).collect();
    let names: Vec<String> = fields.keys().cloned().collect();
    let rest = serde_json::from_value(Value::Object(fields)).map_err(|error| {
        let message = error.to_string();
        let is_beside = unknown_field(&message)
            .is_some_and(|(unknown, _)| names.iter().any(|name| name == unknown));
        // The reader of the rest does not know the fields of a subject, and what lies deeper has none.
        wrong(&error, if is_beside { &FIELDS } else { &[] })
    })?;
    let subject =
        serde_json::from_value(Value::Object(subject)).map_err(|error| wrong(&error, &[]))?;
    Ok((subject, rest))
}

impl Subject {
    /// The caller that this request stands for: the daemon's own user, elsewhere.
    pub(crate) fn caller(&self, daemon: &Caller) -> Result<Caller, Failure> {
        let given = self.working_directory.as_ref().or(self.project.as_ref());
        let Some(given) = given else {
            return Err(Failure::new(Kind::Usage, "neither a project nor a directory is named")
                .help("give `project`, `working_directory` or both, as absolute paths"));
        };
        let refused = |problem: &dyn std::fmt::Display| {
            let given = policy::shown::shown(given.display());
            Failure::new(Kind::Usage, format!("`{given}`: {problem}"))
        };
        if !given.is_absolute() {
            return Err(refused(&"the path is not absolute"));
        }
        // As a shell's own working directory it has no links in it.
        let real = std::fs::canonicalize(given).map_err(|error| refused(&error))?;
        let working_directory =
            HostPath::new(real.into_os_string()).map_err(|error| refused(&error))?;
        let mut caller = Caller { working_directory, ..daemon.clone() };
        if let Some(environment) = &self.environment {
            let pairs = environment.iter();
            caller.environment = pairs.map(|(name, value)| (name.into(), value.into())).collect();
            check_environment(&caller.environment)?;
        }
        Ok(caller)
    }

    /// Whether it is about a plugin, which is always caged. K209
    pub(crate) fn is_plugin(&self) -> bool {
        !self.capabilities.is_empty()
    }

    /// What holds for it.
    pub(crate) fn select(
        &self,
        caller: &Caller,
        sandbox: Sandbox,
        too_broad: TooBroad,
    ) -> Result<Selected, Failure> {
        if self.is_plugin() && (self.cage.is_some() || self.agent.is_some()) {
            let message = "`capabilities` stand in place of a cage, and another one is named";
            return Err(Failure::new(Kind::Usage, message)
                .help("give `capabilities`, `cage` or `agent`, and only one of them"));
        }
        if self.is_plugin() && self.policy.is_some() {
            let message = "`capabilities` stand in place of a policy, and there is one";
            return Err(Failure::new(Kind::Usage, message)
                .help("give `capabilities` or `policy`, and only one of them"));
        }
        let named = [&self.cage, &self.agent, &self.policy].into_iter().any(Option::is_some);
        if self.profile.is_some() && (named || self.is_plugin()) {
            let message = "`profile` stands in place of a policy, and another one is named";
            return Err(Failure::new(Kind::Usage, message).help(
                "give `profile`, `cage`, `agent`, `policy` or `capabilities`, and only one of them",
            ));
        }
        let flags = advice::flags::read(&self.rules, caller)?;
        let project = self.project.as_deref();
        let mut files = match &self.profile {
            Some(_) => PolicyFiles::read_for_profile(caller, project)?,
            None => PolicyFiles::read(caller, project)?,
        };
        if let Some(text) = &self.policy {
            let path = files.project.root.join(PROJECT_FILE_NAME);
            let path = path.map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
            files = files.with_project_text(path, text.clone());
        }
        let choice = Choice {
            project: self.project.clone(),
            cage: self.cage.clone(),
            agent: self.agent.clone(),
            agents: Agents::Defined,
            profile: self.profile.clone(),
            capabilities: self.capabilities.clone(),
            sandbox,
        };
        Ok(select_from(files, caller, &choice, &flags, too_broad)?)
    }

    /// What holds for it, where only a cage will do.
    pub(crate) fn select_cage(
        &self,
        caller: &Caller,
        too_broad: TooBroad,
    ) -> Result<Selection, Failure> {
        match self.select(caller, Sandbox::On, too_broad)? {
            Selected::Caged(selection) => Ok(*selection),
            Selected::Uncaged(uncaged) => {
                let because = policy::shown::shown(uncaged.because());
                Err(Failure::new(Kind::PolicyInvalid, format!("there is no cage: {because}")))
            }
        }
    }
}

/// The kernel takes no other names and values, and would take half of them for something else.
fn check_environment(environment: &[(OsString, OsString)]) -> Result<(), Failure> {
    for (name, value) in environment {
        let (name_bytes, value_bytes) = (name.as_encoded_bytes(), value.as_encoded_bytes());
        let bad_name =
            name_bytes.is_empty() || name_bytes.contains(&b'=') || name_bytes.contains(&0);
        if bad_name || value_bytes.contains(&0) {
            let name = policy::shown::shown(name.display());
            let message = format!("`{name}` cannot be a variable, or its value has a NUL in it");
            return Err(Failure::new(Kind::Usage, message));
        }
    }
    Ok(())
}
