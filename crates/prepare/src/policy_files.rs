//! The files that say what a cage may do, and whether the user's ceiling or approval covers what a
//! project's file asks for.

use std::collections::BTreeMap;
use std::path::Path;

use plan::HostPath;
use policy::ceiling::Excess;
use policy::text::{self, AgentCage, Flags};
use policy::{Cage, Ceiling, NetworkSettings, Place, Policy, built_in};
use state::Locations;
use walls::Wall;

use super::caller::Caller;
use super::documents::{Author, Chosen, Documents};
use super::error::{Approvals, SelectionError};
use super::selection::TooBroad;
use crate::project::{PolicyFile, Project};
use crate::trust::{Trust, TrustError};

/// The files of a project and of a user.
#[derive(Debug)]
pub struct PolicyFiles {
    /// The project, with its file if it has one.
    pub project: Project,
    /// What relative paths and `~` stand for in them.
    pub place: Place,
    user: Option<PolicyFile>,
    locations: Locations,
    working_directory: HostPath,
    /// Whether the project's text was given and not read from its file.
    text_is_given: bool,
}

/// A cage that holds, and the ceiling that it must stay under when its links are resolved.
pub(super) struct Permitted {
    pub(super) cage: Cage,
    pub(super) ceiling: Option<Ceiling>,
}

impl PolicyFiles {
    /// Finds the project, which is the caller's own where none is named, and reads its file and the
    /// user's.
    pub fn read(caller: &Caller, project: Option<&Path>) -> Result<Self, SelectionError> {
        let working_directory = caller.working_directory.clone();
        let project = match project {
            Some(directory) => Project::at(working_directory.as_path(), directory)?,
            None => Project::find(working_directory.as_path())?,
        };
        let locations = caller.locations.clone();
        let user = match &locations.configuration {
            Some(path) => PolicyFile::of_user(path)?,
            None => None,
        };
        let own_state = locations.own_state();
        let place = Place { project: project.root.clone(), home: caller.home(), own_state };
        let text_is_given = false;
        Ok(Self { project, place, user, locations, working_directory, text_is_given })
    }

    /// As [`PolicyFiles::read`], for a profile: without a policy file the project is the whole working tree
    /// of Git that the caller is in, because tools work on that.
    pub fn read_for_profile(
        caller: &Caller,
        project: Option<&Path>,
    ) -> Result<Self, SelectionError> {
        let found = match project {
            Some(_) => None,
            None => {
                let directory = caller.working_directory.as_path();
                Some(Project::find_with_tree(directory, caller.home().as_slice())?)
            }
        };
        let root = found.map(|project| project.root);
        Self::read(caller, root.as_ref().map(HostPath::as_path).or(project))
    }

    /// How the user's configuration has this machine reach the network, whatever the project. What its
    /// relative paths stand for is not known here: any project will do for reading them.
    pub fn user_network(caller: &Caller) -> Result<NetworkSettings, SelectionError> {
        let Some(path) = &caller.locations.configuration else {
            return Ok(NetworkSettings::default());
        };
        let Some(file) = PolicyFile::of_user(path)? else { return Ok(NetworkSettings::default()) };
        let any_project = HostPath::new(ANY_PROJECT);
        let place = Place {
            project: any_project.unwrap_or_else(|_| caller.working_directory.clone()),
            home: caller.home(),
            own_state: caller.locations.own_state(),
        };
        let document = text::parse_user(&path.to_string(), file.text.as_bytes(), &place)?;
        Ok(document.network)
    }

    /// Reads the texts; errors of the user's own file come first.
    pub fn parse(&self) -> Result<Documents, SelectionError> {
        let user = match &self.user {
            Some(file) => {
                Some(text::parse_user(&file.path.to_string(), file.text.as_bytes(), &self.place)?)
            }
            None => None,
        };
        let project = match &self.project.file {
            Some(file) => {
                let name = self.shown_name(&file.path);
                Some(text::parse_project(&name, file.text.as_bytes(), &self.place)?)
            }
            None => None,
        };
        let ceiling = user.as_ref().and_then(|document| document.ceiling.clone());
        let ceiling = ceiling.unwrap_or_else(|| Ceiling::built_in(&self.place));
        Ok(Documents { project, user, ceiling })
    }

    /// The user's approvals; none for a user without a place for them.
    pub fn trust(&self) -> Option<Trust> {
        self.locations.state.as_ref().map(Trust::open)
    }

    /// Whether the user has approved the project's file as it is.
    pub fn is_approved(&self) -> Result<bool, TrustError> {
        match (self.trust(), &self.project.file) {
            (Some(trust), Some(file)) => trust.is_allowed(&file.path, file.text.as_bytes()),
            _ => Ok(false),
        }
    }

    /// What each cage of the project's file asks for beyond the ceiling, by the cage's name; and
    /// each agent that has none, as `agent.NAME`.
    pub fn asked_beyond_ceiling(&self) -> Result<BTreeMap<String, Vec<String>>, SelectionError> {
        let documents = self.parse()?;
        let mut asked = BTreeMap::new();
        for (name, cage) in documents.project.iter().flat_map(|document| &document.cages) {
            if let Err(excess) = documents.ceiling.apply_to_cage(cage) {
                let lines = excess.asked.iter().map(ToString::to_string).collect();
                asked.insert(name.clone(), lines);
            }
        }
        for (name, agent) in documents.project.iter().flat_map(|document| &document.agents) {
            let AgentCage::Disabled(limits) = agent.cage else { continue };
            let cage = Cage::Disabled { limits, origin: agent.origin.clone() };
            if let Err(excess) = documents.ceiling.apply_to_cage(&cage) {
                let lines = excess.asked.iter().map(ToString::to_string).collect();
                asked.insert(format!("agent.{name}"), lines);
            }
        }
        Ok(asked)
    }

    /// Puts another text in the place of the project's file, as if it had been read there.
    #[must_use]
    pub fn with_project_text(mut self, path: HostPath, text: String) -> Self {
        self.project.file = Some(PolicyFile { path, text });
        self.text_is_given = true;
        self
    }

    /// A chosen cage, if the ceiling or an approval covers it.
    pub(super) fn permit(
        &self,
        documents: &Documents,
        chosen: &Chosen<'_>,
    ) -> Result<Permitted, SelectionError> {
        let cage = chosen.cage.as_ref();
        let (cage, ceiling) = match chosen.author {
            Author::User => (cage.clone(), None),
            Author::Project => match documents.ceiling.apply_to_cage(cage) {
                Ok(cage) => (cage, Some(documents.ceiling.clone())),
                Err(_) if self.is_approved()? || !walls::stands(Wall::Approval) => {
                    (cage.clone(), None)
                }
                Err(excess) => return Err(self.not_approved(excess)),
            },
        };
        Ok(Permitted { cage, ceiling })
    }

    fn not_approved(&self, excess: Excess) -> SelectionError {
        let file = self.project.file.as_ref().map(|file| &file.path);
        let approvals = match self.locations.state {
            Some(_) if self.text_is_given => Approvals::OnceWritten,
            Some(_) => Approvals::Possible,
            None => Approvals::NoPlace,
        };
        let file = file.unwrap_or(&self.project.root).clone();
        SelectionError::NotApproved { file, excess, approvals }
    }

    /// The working directory stays granted when flags grant more. One that is too broad for that
    /// is not, and then flags have to say what is.
    pub(super) fn without_policy(
        &self,
        flags: &Flags,
        too_broad: TooBroad,
    ) -> Result<Policy, built_in::TooBroad> {
        match built_in::policy(&self.project.root, self.place.home.as_slice()) {
            Err(_) if flags.has_paths() || too_broad == TooBroad::GrantNothing => {
                Ok(Policy::closed(built_in::DEFAULT_CAGE))
            }
            policy => policy,
        }
    }

    /// A file below the working directory by its short name, as compilers name files. Of a daemon that is
    /// the root, below which everything is.
    fn shown_name(&self, path: &HostPath) -> String {
        let directory =
            Some(&self.working_directory).filter(|directory| directory.parent().is_some());
        let short = directory.map(|directory| path.as_path().strip_prefix(directory.as_path()));
        let Some(short) = short else { return path.to_string() };
        short.map_or_else(|_| path.to_string(), |short| short.display().to_string())
    }
}

/// A path that any project could have, with nothing above it that cannot be granted.
const ANY_PROJECT: &str = "/any/project/of/a/client";
