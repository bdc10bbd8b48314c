//! Which policy holds: the project's file, the user's configuration, or what is built in; which cage
//! of it; and whether the user's ceiling or approval covers it. Every command that needs a policy
//! asks here, so that `why` and `check` speak of the cage that `run` builds.

use cage::project::{Locations, PolicyFile, Project};
use cage::resolve::Surroundings;
use cage::trust::Trust;
use plan::network::MOST_PORTS;
use plan::{ByteString, HostPath};
use policy::ceiling::Excess;
use policy::shown::shown;
use policy::text::{self, Agent, AgentCage, Document, Flags};
use policy::{Cage, Ceiling, NetworkSettings, Place, Policy, RuleOrigin, built_in};

use crate::arguments::{
    ChoiceArguments, FileArguments, NetworkArguments, ProgramArguments, Seccomp,
};
use crate::check::for_shell;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::flags;
use crate::message::Messages;

/// Everything that is known before the command line's own rules are added.
#[derive(Debug)]
pub(crate) struct Selection {
    /// What holds, if any does without further rules.
    pub(crate) policy: Policy,
    /// The command of the agent that was asked for.
    pub(crate) agent_command: Vec<String>,
    /// What relative paths and `~` stand for.
    pub(crate) place: Place,
    /// Where and for whom the policy will be resolved.
    pub(crate) surroundings: Surroundings,
    /// What a project's file that nobody approved must stay under, wherever its links lead.
    pub(crate) ceiling: Option<Ceiling>,
    /// How the user's configuration has this machine reach the network.
    pub(crate) network: NetworkSettings,
}

/// The command line's own rules, as far as a command has them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlagArguments<'a> {
    /// `--ro`, `--rw`, `--hide`.
    pub(crate) files: Option<&'a FileArguments>,
    /// `--env`, `--command` and the rest.
    pub(crate) program: Option<&'a ProgramArguments>,
    /// `--net` and its like.
    pub(crate) network: Option<&'a NetworkArguments>,
    /// `--seccomp` of a command that has no other.
    pub(crate) seccomp: Option<Seccomp>,
    /// Without a policy, in a directory that is too broad to be granted without being named.
    pub(crate) too_broad: TooBroad,
}

/// What becomes of a working directory that is too broad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TooBroad {
    /// Flags that name paths make up for it; else there is no policy.
    #[default]
    Refuse,
    /// It is left out.
    GrantNothing,
}

/// Finds, chooses and adds the command line's rules.
pub(crate) fn select(
    choice: &ChoiceArguments,
    arguments: FlagArguments<'_>,
    messages: Messages,
) -> Result<Selection, Failure> {
    let files = PolicyFiles::read(choice.project.as_deref())?;
    files.tell_warnings(messages);
    let documents = files.parse()?;
    let chosen = documents.choose(choice)?;
    let surroundings = Surroundings::of_this_process(files.project.root.clone())?;
    let flags = arguments.read(&surroundings.working_directory, &files.place)?;
    let (permitted, agent_command) = match chosen {
        Some(chosen) => {
            let agent_command = chosen.agent.map(|agent| agent.command.clone());
            (files.permit(&documents, &chosen)?, agent_command.unwrap_or_default())
        }
        None => {
            let policy = files.without_policy(&flags, arguments.too_broad)?;
            (Permitted { policy, ceiling: None }, Vec::new())
        }
    };
    let Permitted { policy, ceiling } = permitted;
    let network = documents.user.map(|document| document.network).unwrap_or_default();
    let mut policy = policy.with_user_flags(&flags);
    tell_unset_variables(&policy, &surroundings, messages);
    if let Some(word) = policy.net.list_with_too_many_ports() {
        let message =
            format!("with these flags the cage has more than {MOST_PORTS} ports in `{word}`");
        return Err(Failure::new(Exit::Usage, message));
    }
    if arguments.network.is_some_and(|network| network.no_net) {
        policy.net.disconnect();
    }
    let mut selection =
        Selection { policy, agent_command, place: files.place, surroundings, ceiling, network };
    if selection.policy.state == policy::State::Scratch {
        let kept = crate::scratch::directory(&files.locations, &selection)?;
        selection.surroundings.scratch = Some(kept);
    }
    Ok(selection)
}

/// A policy file may pass on what only some of its users have; a flag means what is set here.
fn tell_unset_variables(policy: &Policy, surroundings: &Surroundings, messages: Messages) {
    for (name, rule) in &policy.env {
        let by_flag = matches!(rule.origin, RuleOrigin::Flag(_)) && rule.value.is_none();
        if by_flag && !surroundings.environment.iter().any(|(set, _)| set == name.as_str()) {
            messages
                .note(&format!("`{name}` is not set here, so `--env {name}` passes nothing on"));
        }
    }
}

impl FlagArguments<'_> {
    fn read(self, working_directory: &HostPath, place: &Place) -> Result<Flags, Failure> {
        let mut read = Flags::default();
        if let Some(files) = self.files {
            flags::add_files(&mut read, files, working_directory, place)?;
        }
        if let Some(program) = self.program {
            flags::add_program(&mut read, program)?;
        }
        if let Some(network) = self.network {
            flags::add_network(&mut read, network)?;
        }
        if let Some(profile) = self.seccomp {
            flags::add_seccomp(&mut read, profile)?;
        }
        Ok(read)
    }
}

/// The files that say what a cage may do.
#[derive(Debug)]
pub(crate) struct PolicyFiles {
    pub(crate) project: Project,
    pub(crate) place: Place,
    user: Option<PolicyFile>,
    locations: Locations,
}

/// What they say.
#[derive(Debug)]
pub(crate) struct Documents {
    pub(crate) project: Option<Document>,
    user: Option<Document>,
    pub(crate) ceiling: Ceiling,
}

/// One cage of one of them.
struct Chosen<'a> {
    cage: &'a Cage,
    agent: Option<&'a Agent>,
    author: Author,
}

/// A policy that holds, and the ceiling that it must stay under when its links are resolved.
struct Permitted {
    policy: Policy,
    ceiling: Option<Ceiling>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Author {
    Project,
    User,
}

impl PolicyFiles {
    /// Finds the project and reads its file and the user's.
    pub(crate) fn read(project: Option<&std::path::Path>) -> Result<Self, Failure> {
        check_working_directory()?;
        let project = match project {
            Some(directory) => Project::at(directory)?,
            None => Project::find(std::path::Path::new("."))?,
        };
        let locations = Locations::of_this_process();
        let user = match &locations.configuration {
            Some(path) => PolicyFile::of_user(path)?,
            None => None,
        };
        let home = std::env::var_os("HOME").and_then(|home| HostPath::new(home).ok());
        let place = Place { project: project.root.clone(), home, own_state: locations.own_state() };
        Ok(Self { project, place, user, locations })
    }

    fn tell_warnings(&self, messages: Messages) {
        for warning in &self.locations.warnings {
            messages.warning(&warning.to_string());
        }
    }

    /// Reads the texts; errors of the user's own file come first.
    pub(crate) fn parse(&self) -> Result<Documents, Failure> {
        let user = match &self.user {
            Some(file) => {
                Some(text::parse_user(&file.path.to_string(), file.text.as_bytes(), &self.place)?)
            }
            None => None,
        };
        let project = match &self.project.file {
            Some(file) => {
                let name = shown_name(&file.path);
                Some(text::parse_project(&name, file.text.as_bytes(), &self.place)?)
            }
            None => None,
        };
        let ceiling = user.as_ref().and_then(|document| document.ceiling.clone());
        let ceiling = ceiling.unwrap_or_else(|| Ceiling::built_in(&self.place));
        Ok(Documents { project, user, ceiling })
    }

    /// The user's approvals; none for a user without a place for them.
    pub(crate) fn trust(&self) -> Option<Trust> {
        self.locations.state.as_ref().map(Trust::open)
    }

    /// Whether the user has approved the project's file as it is.
    pub(crate) fn is_approved(&self) -> Result<bool, Failure> {
        match (self.trust(), &self.project.file) {
            (Some(trust), Some(file)) => Ok(trust.is_allowed(&file.path, file.text.as_bytes())?),
            _ => Ok(false),
        }
    }

    /// The policy of a cage, if the ceiling or an approval covers it.
    fn permit(&self, documents: &Documents, chosen: &Chosen<'_>) -> Result<Permitted, Failure> {
        let (cage, ceiling) = match chosen.author {
            Author::User => (chosen.cage.clone(), None),
            Author::Project => match documents.ceiling.apply_to_cage(chosen.cage) {
                // What is built in gives the whole project, which no link of a project leaves.
                Ok(cage) if !documents.has_own_ceiling() => (cage, None),
                Ok(cage) => (cage, Some(documents.ceiling.clone())),
                Err(_) if self.is_approved()? => (chosen.cage.clone(), None),
                Err(excess) => return Err(self.refused(&excess)),
            },
        };
        match cage {
            Cage::Enabled(policy) => Ok(Permitted { policy, ceiling }),
            Cage::Disabled { origin, .. } => Err(Failure::new(
                Exit::CannotBuild,
                format!(
                    "the cage is disabled ({origin}): its program would run uncaged, which has to \
                     be on record, and this build keeps none"
                ),
            )
            .help("start the program without `stockade`, or give it a cage")),
        }
    }

    fn refused(&self, excess: &Excess) -> Failure {
        let file = self.project.file.as_ref().map(|file| &file.path);
        let name = file.map(shown).unwrap_or_default();
        let word = file.map(|path| for_shell(&ByteString::from(path.as_bytes().to_vec())));
        let failure = Failure::new(Exit::Refused, format!("`{name}` is not approved; {excess}"));
        match self.trust() {
            Some(_) => failure
                .help(format!(
                    "read the file, then approve this very text: `stockade allow {}`",
                    word.unwrap_or_default()
                ))
                .help("or raise `[ceiling]` in your own configuration"),
            None => failure.help("approvals need a home directory: set HOME"),
        }
    }

    /// The working directory stays granted when flags grant more. One that is too broad for that
    /// is not, and then flags have to say what is.
    fn without_policy(&self, flags: &Flags, too_broad: TooBroad) -> Result<Policy, Failure> {
        match built_in::policy(&self.project.root, self.place.home.as_slice()) {
            Ok(policy) => Ok(policy),
            Err(_) if flags.has_paths() || too_broad == TooBroad::GrantNothing => {
                Ok(Policy::closed(built_in::DEFAULT_CAGE))
            }
            Err(refusal) => {
                let help = refusal.hint();
                Err(Failure::new(Exit::Refused, refusal.to_string()).help(help))
            }
        }
    }
}

impl Documents {
    /// Whether the user's configuration sets a ceiling.
    fn has_own_ceiling(&self) -> bool {
        self.user.as_ref().is_some_and(|document| document.ceiling.is_some())
    }

    /// The cage or agent that was asked for; none where nobody defined the default one.
    fn choose(&self, choice: &ChoiceArguments) -> Result<Option<Chosen<'_>>, Failure> {
        if let Some(name) = &choice.agent {
            return self.agent(name).map(Some);
        }
        let Some(name) = choice.cage.as_deref().filter(|name| *name != built_in::DEFAULT_CAGE)
        else {
            return self.default_cage(choice.cage.is_some());
        };
        let defined: Vec<Chosen<'_>> = self
            .each()
            .filter_map(|(author, document)| {
                let cage = document.cages.get(name)?;
                Some(Chosen { cage, agent: None, author })
            })
            .collect();
        self.only_one("cage", name, defined).map(Some)
    }

    /// A project's file is there to say what the default is; the user's word comes second, what is
    /// built in third. A file that defines cages and no default one asks to be told which.
    fn default_cage(&self, by_name: bool) -> Result<Option<Chosen<'_>>, Failure> {
        let found = self.each().find_map(|(author, document)| {
            let cage = document.cages.get(built_in::DEFAULT_CAGE)?;
            Some(Chosen { cage, agent: None, author })
        });
        let in_file = self.project.is_some();
        if found.is_none() && (in_file || by_name) {
            return Err(self.not_defined("cage", built_in::DEFAULT_CAGE));
        }
        Ok(found)
    }

    fn agent(&self, name: &str) -> Result<Chosen<'_>, Failure> {
        let mut defined = Vec::new();
        for (author, document) in self.each() {
            let Some(agent) = document.agents.get(name) else { continue };
            let AgentCage::Named(cage) = &agent.cage else {
                return Err(Failure::new(
                    Exit::CannotBuild,
                    format!(
                        "agent `{name}` has no cage ({}): it would run uncaged, which has to be on \
                         record, and this build keeps none",
                        agent.origin
                    ),
                )
                .help("start the program without `stockade`, or give the agent a cage"));
            };
            if let Some(cage) = document.cages.get(cage) {
                defined.push(Chosen { cage, agent: Some(agent), author });
            }
        }
        self.only_one("agent", name, defined)
    }

    /// A name that both files define is an error: a project must not take the place of what the
    /// user meant, nor silently lose its own.
    fn only_one<'a>(
        &self,
        what: &str,
        name: &str,
        mut defined: Vec<Chosen<'a>>,
    ) -> Result<Chosen<'a>, Failure> {
        match (defined.pop(), defined.is_empty()) {
            (Some(chosen), true) => Ok(chosen),
            (Some(_), false) => Err(Failure::new(
                Exit::BadPolicy,
                format!(
                    "{what} `{name}` is defined by the project's file and by your configuration"
                ),
            )
            .help("rename one of them")),
            (None, _) => Err(self.not_defined(what, name)),
        }
    }

    fn not_defined(&self, what: &str, name: &str) -> Failure {
        let names: Vec<&String> = self
            .each()
            .flat_map(|(_, document)| match what {
                "agent" => document.agents.keys().collect::<Vec<_>>(),
                _ => document.cages.keys().collect(),
            })
            .collect();
        let failure =
            Failure::new(Exit::BadPolicy, format!("there is no {what} `{}`", shown(name)));
        let meant = policy::text::words::meant(name, names.iter().map(|name| name.as_str()));
        match (meant, names.as_slice()) {
            (Some(meant), _) => failure.help(format!("did you mean `--{what} {meant}`?")),
            (None, []) => failure.help(format!("no policy file defines any {what}")),
            (None, names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                failure.help(format!("there are: {}; pass `--{what} NAME`", names.join(", ")))
            }
        }
    }

    fn each(&self) -> impl Iterator<Item = (Author, &Document)> {
        let project = self.project.iter().map(|document| (Author::Project, document));
        project.chain(self.user.iter().map(|document| (Author::User, document)))
    }
}

/// A shell stays in a directory that somebody removed and goes on showing its name.
fn check_working_directory() -> Result<(), Failure> {
    match std::env::current_dir() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new(Exit::CannotBuild, "the working directory does not exist any more")
                .help("go to one that does; if it was made again, `cd .` enters the new one"))
        }
        _ => Ok(()),
    }
}

/// A file below the working directory by its short name, as compilers name files.
fn shown_name(path: &HostPath) -> String {
    let working_directory = std::env::current_dir().unwrap_or_default();
    let short = path.as_path().strip_prefix(&working_directory);
    short.map_or_else(|_| path.to_string(), |short| short.display().to_string())
}
