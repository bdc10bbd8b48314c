//! What the policy files say, and which cage of them is meant. A name that both files define is an
//! error: a project must not take the place of what the user meant, nor silently lose its own.

use std::borrow::Cow;
use std::path::PathBuf;

use policy::text::{Agent, AgentCage, Document};
use policy::{Cage, Ceiling, built_in};

use super::error::{Definition, SelectionError};

/// Which cage is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The project's directory; without it the nearest one upward that has a policy file, else the
    /// working directory.
    pub project: Option<PathBuf>,
    /// A cage of the policy files; `default` without it.
    pub cage: Option<String>,
    /// An agent of the policy files, with its cage and command; it wins over `cage`.
    pub agent: Option<String>,
    /// Whether an agent that the policy files do not define may be a built-in one: those are made of the tools and
    /// settings of the person who asks.
    pub agents: Agents,
    /// A profile of the user's or a built-in one, in place of a cage of the policy files.
    pub profile: Option<String>,
    /// Capabilities of a plugin, see [`policy::capabilities`]. If there are any, they are the policy,
    /// under the user's ceiling, and no cage of the files is.
    pub capabilities: Vec<String>,
    /// Whether there is to be a cage at all.
    pub sandbox: Sandbox,
}

/// Which agents there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agents {
    /// Those of the policy files.
    #[default]
    Defined,
    /// Those, and the built-in ones.
    DefinedAndBuiltIn,
}

/// Whether programs get cages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Unless a policy of the user's, or one that the user approved, disables a cage.
    #[default]
    On,
    /// Never, whatever a policy says: the operator's `--no-sandbox`. K157
    Off,
}

/// What the policy files say.
#[derive(Debug)]
pub struct Documents {
    /// The project's file.
    pub project: Option<Document>,
    /// The user's configuration.
    pub user: Option<Document>,
    /// The most that the project's file may ask for.
    pub ceiling: Ceiling,
}

/// One cage of one of them.
pub(super) struct Chosen<'a> {
    pub(super) cage: Cow<'a, Cage>,
    pub(super) name: &'a str,
    pub(super) agent: Option<&'a Agent>,
    pub(super) author: Author,
}

/// Who wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    Project,
    User,
}

impl Documents {
    /// The cage or agent that was asked for; none where nobody defined the default one.
    pub(super) fn choose<'a>(
        &'a self,
        choice: &'a Choice,
    ) -> Result<Option<Chosen<'a>>, SelectionError> {
        if let Some(name) = &choice.agent {
            return self.agent(name).map(Some);
        }
        let Some(name) = choice.cage.as_deref().filter(|name| *name != built_in::DEFAULT_CAGE)
        else {
            return self.default_cage(choice.cage.is_some());
        };
        let defined = self.each().filter_map(|(author, document)| {
            let cage = Cow::Borrowed(document.cages.get(name)?);
            Some(Chosen { cage, name, agent: None, author })
        });
        self.only_one(Definition::Cage, name, defined.collect()).map(Some)
    }

    /// A project's file is there to say what the default is; the user's word comes second, what is
    /// built in third. A file that defines cages and no default one asks to be told which.
    fn default_cage(&self, by_name: bool) -> Result<Option<Chosen<'_>>, SelectionError> {
        let name = built_in::DEFAULT_CAGE;
        let found = self.each().find_map(|(author, document)| {
            let cage = Cow::Borrowed(document.cages.get(name)?);
            Some(Chosen { cage, name, agent: None, author })
        });
        let in_file = self.project.is_some();
        if found.is_none() && (in_file || by_name) {
            return Err(self.undefined(Definition::Cage, name));
        }
        Ok(found)
    }

    fn agent<'a>(&'a self, name: &'a str) -> Result<Chosen<'a>, SelectionError> {
        let mut defined = Vec::new();
        for (author, document) in self.each() {
            let Some(agent) = document.agents.get(name) else { continue };
            let (cage, name) = match &agent.cage {
                AgentCage::Disabled(limits) => {
                    let (limits, origin) = (*limits, agent.origin.clone());
                    (Some(Cow::Owned(Cage::Disabled { limits, origin })), name)
                }
                AgentCage::Named(cage) => (document.cages.get(cage).map(Cow::Borrowed), &**cage),
            };
            if let Some(cage) = cage {
                defined.push(Chosen { cage, name, agent: Some(agent), author });
            }
        }
        self.only_one(Definition::Agent, name, defined)
    }

    /// Whether a policy file defines an agent of this name.
    pub(super) fn defines_agent(&self, name: &str) -> bool {
        self.each().any(|(_, document)| document.agents.contains_key(name))
    }

    /// The agents of both files.
    pub(super) fn agent_names(&self) -> Vec<String> {
        self.each().flat_map(|(_, document)| document.agents.keys().cloned()).collect()
    }

    fn only_one<'a>(
        &self,
        what: Definition,
        name: &str,
        mut defined: Vec<Chosen<'a>>,
    ) -> Result<Chosen<'a>, SelectionError> {
        match (defined.pop(), defined.is_empty()) {
            (Some(chosen), true) => Ok(chosen),
            (Some(_), false) => Err(SelectionError::DefinedTwice { what, name: name.to_owned() }),
            (None, _) => Err(self.undefined(what, name)),
        }
    }

    fn undefined(&self, what: Definition, name: &str) -> SelectionError {
        let defined = self.each().flat_map(|(_, document)| match what {
            Definition::Agent => document.agents.keys().cloned().collect::<Vec<_>>(),
            Definition::Cage => document.cages.keys().cloned().collect(),
            Definition::Profile => document.profiles.keys().cloned().collect(),
        });
        SelectionError::Undefined { what, name: name.to_owned(), defined: defined.collect() }
    }

    fn each(&self) -> impl Iterator<Item = (Author, &Document)> {
        let project = self.project.iter().map(|document| (Author::Project, document));
        project.chain(self.user.iter().map(|document| (Author::User, document)))
    }
}
