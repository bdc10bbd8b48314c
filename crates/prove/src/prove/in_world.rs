//! Runs the attacks on the gatekeeper: uncaged in one world, and caged in one for every policy that
//! they attack.

use std::process::{Command, Output, Stdio};

use attacks::AttackReport;
use attacks::Network;
use attacks::world::{ALLOWED, WorldReport};
use attacks::{Arena, ArenaError, Attack, Bait, HostArena, Outcome, SetUp};

use super::{CageRequest, Cages, Profile, ProveError, Settings, Trial, Trials, batch_words};

/// Runs them all without cages.
pub(super) fn uncaged(set_up: &SetUp) -> Result<Trials, ProveError> {
    let host = HostArena::build(set_up, Bait::ForScenario(NAME))?;
    let attacks: Vec<&'static Attack> = attacks::in_world().collect();
    let words = batch_words(&host, "here", &attacks);
    let mut program = Command::new(Arena::attacker(&host.arena().project));
    program.args(words.iter().skip(1));
    let output = run_in_world(set_up, &host, &program)?;
    Ok(judged(&attacks, &output, Network::Host))
}

/// Runs them all in cages of every profile.
pub(super) fn caged(
    set_up: &SetUp,
    cages: &dyn Cages,
    settings: &Settings,
) -> Result<Vec<(Profile, Trials)>, ProveError> {
    let profiles = settings.profiles.iter();
    // What is left out after an interruption is not looked at.
    let wanted = profiles.take_while(|_| !(settings.is_interrupted)());
    wanted.map(|profile| Ok((*profile, in_cages(set_up, cages, *profile)?))).collect()
}

fn in_cages(set_up: &SetUp, cages: &dyn Cages, profile: Profile) -> Result<Trials, ProveError> {
    let mut host = HostArena::build(set_up, Bait::ForScenario(NAME))?;
    host.set_overseer(1)?;
    let mut trials = Vec::new();
    for network in networks() {
        let attacks: Vec<&'static Attack> = attacks::in_world()
            .filter(|attack| attack.network == network && profile.concerns(attack))
            .collect();
        configure(&host, network)?;
        let mut request = CageRequest::usual(host.arena(), batch_words(&host, "here", &attacks));
        request.profile = profile;
        request.flags = vec!["--cage".into(), NAME.into()];
        let output = run_in_world(set_up, &host, &cages.command(&request))?;
        trials.extend(judged(&attacks, &output, network));
    }
    Ok(trials)
}

/// Every policy that is attacked, once.
fn networks() -> Vec<Network> {
    let mut networks = Vec::new();
    for attack in attacks::in_world() {
        if !networks.contains(&attack.network) {
            networks.push(attack.network);
        }
    }
    networks
}

/// Writes the user's configuration: where names are asked in this world, and the attacked policy.
fn configure(host: &HostArena, network: Network) -> Result<(), ArenaError> {
    let words = match network {
        Network::Host => "",
        Network::World(words) | Network::Refused(words) => words,
    };
    let text =
        format!("version = 1\n[network]\nresolvers = [\"{ALLOWED}\"]\n[cage.{NAME}]\n{words}\n");
    host.configure(&text)
}

fn run_in_world(set_up: &SetUp, host: &HostArena, program: &Command) -> Result<Output, ProveError> {
    let mut command = Command::new(set_up.original());
    command.args(["__attack", "world"]).arg(program.get_program()).args(program.get_args());
    host.dress(&mut command);
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|error| ProveError::Attacks(error.to_string()))
}

/// What came of each attack, by its own report and by that of the servers.
fn judged(attacks: &[&'static Attack], output: &Output, network: Network) -> Trials {
    let text = String::from_utf8_lossy(&output.stdout);
    let reports: Vec<AttackReport> = lines_of(&text);
    let news: Vec<WorldReport> = lines_of(&text);
    let silence = silence(output, &news, network);
    let trial = |attack: &'static Attack| {
        let own = reports.iter().find(|report| report.attack == attack.name);
        let harm = news.iter().find_map(|news| match news {
            WorldReport::Arrived { mark, at } if mark == attack.name => {
                Some(format!("its mark arrived at {at}"))
            }
            WorldReport::Arrived { .. } | WorldReport::NoWorld { .. } => None,
        });
        let outcome = own.map_or_else(|| silence.clone(), |report| report.outcome.clone());
        (attack, Trial { outcome, harm, secret: None })
    };
    attacks.iter().map(|attack| trial(attack)).collect()
}

fn lines_of<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What is to be thought of attacks that say nothing: there was no world, or no cage in it.
fn silence(output: &Output, news: &[WorldReport], network: Network) -> Outcome {
    let no_world = news.iter().find_map(|news| match news {
        WorldReport::NoWorld { reason } => Some(reason),
        WorldReport::Arrived { .. } => None,
    });
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let ended = format!("{}: {complaint}", output.status);
    match (no_world, output.status.code(), network) {
        (Some(reason), ..) => Outcome::NotApplicable(reason.clone()),
        (None, Some(WRONG_POLICY | REFUSED), Network::Refused(_)) => Outcome::Failed(ended),
        (None, Some(CANNOT_BUILD), _) => Outcome::NotApplicable(ended),
        _ => Outcome::Broken(format!("no report: {ended}")),
    }
}

/// The name of the attacked cage.
const NAME: &str = "network";
/// The exit code for a cage that cannot be built here.
const CANNOT_BUILD: i32 = 122;
/// Those for a policy that makes no sense, and for one that asks for too much.
const WRONG_POLICY: i32 = 123;
const REFUSED: i32 = 125;
