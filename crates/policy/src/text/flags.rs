//! The user's flags: the other front end besides the policy text.
//!
//! [`Policy::with_user_flags`] joins them with what a file says. That is the user's own authority
//! speaking and not a derivation: it happens before anything is derived from the policy, and no
//! code that holds a policy on somebody else's behalf may call it. Derivation is
//! [`Policy::narrow`], which never adds.

use std::collections::{BTreeMap, BTreeSet};

use plan::{ByteString, HostPath};

use super::cage::check_command_name;
use super::limits::{Bounds, CPU_MILLIS, MEMORY_MB, PIDS, WALLTIME_SEC, millis_of};
use super::{MAX_NETWORK_ENTRIES, net, variables};
use crate::host_names;
use crate::net::{Destination, DestinationError};
use crate::shown::Shown;
use crate::ungrantable::{self, Ungrantable};
use crate::{
    Commands, EnvironmentRule, FsAccess, FsRule, Limits, Policy, Reach, RuleOrigin, Seccomp, State,
};

/// What the user asked for on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    fs: Vec<FsRule>,
    env: BTreeMap<String, EnvironmentRule>,
    commands: Option<Commands>,
    allow: BTreeMap<Destination, RuleOrigin>,
    host_ports: BTreeMap<u16, RuleOrigin>,
    publish: BTreeMap<u16, RuleOrigin>,
    no_net: bool,
    state: Option<State>,
    seccomp: Option<Seccomp>,
    limits: Limits,
}

/// Why a flag's value cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// Nobody can grant the path.
    #[error(transparent)]
    Ungrantable(#[from] Ungrantable),
    /// One path with two kinds of access.
    #[error("`{}` and `{}` contradict each other", Shown(.earlier), Shown(.later))]
    Contradiction {
        /// The first flag.
        earlier: String,
        /// The second flag.
        later: String,
    },
    /// Not a name or value of a variable.
    #[error("`--env {}`: {problem}", Shown(.given))]
    Variable {
        /// As it was given.
        given: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Not the name of a program.
    #[error("`--command {}`: {problem}", Shown(.given))]
    Command {
        /// As it was given.
        given: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Not a destination.
    #[error("`--net {}`: {error}", Shown(.given))]
    Destination {
        /// As it was given.
        given: String,
        /// What is wrong.
        #[source]
        error: DestinationError,
    },
    /// More destinations than a list of them may have.
    #[error("there are more than {MAX_NETWORK_ENTRIES} destinations of `--net`, which is the most")]
    TooManyDestinations,
    /// Not a port of a loopback.
    #[error("`{flag} {}`: {problem}", Shown(.given))]
    Port {
        /// The flag.
        flag: &'static str,
        /// As it was given.
        given: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Not one of the known words.
    #[error("`{flag} {}`: expected {expected}", Shown(.given))]
    Word {
        /// The flag.
        flag: &'static str,
        /// As it was given.
        given: String,
        /// What is known.
        expected: &'static str,
    },
    /// Not a size, a time or a number, or one out of range.
    #[error("`{flag} {}`: expected {expected}", Shown(.given))]
    Number {
        /// The flag.
        flag: &'static str,
        /// As it was given.
        given: String,
        /// What is expected.
        expected: &'static str,
    },
}

impl Flags {
    /// `--ro`, `--rw` or `--hide`. The path is absolute and normal already; `given` is the flag as
    /// it was written, for errors and for `why`.
    pub fn path(
        &mut self,
        access: FsAccess,
        path: HostPath,
        given: &str,
        own_state: &[HostPath],
    ) -> Result<(), FlagError> {
        if access > FsAccess::Hide {
            ungrantable::check(&path, own_state)?;
        }
        let origin = RuleOrigin::Flag(given.to_owned());
        match self.fs.iter().find(|rule| rule.path == path) {
            Some(earlier) if earlier.access != access => Err(FlagError::Contradiction {
                earlier: earlier.origin.to_string(),
                later: given.to_owned(),
            }),
            Some(_) => Ok(()),
            None => {
                self.fs.push(FsRule { access, path, reach: Reach::Anywhere, origin });
                Ok(())
            }
        }
    }

    /// `--env NAME` or `--env NAME=VALUE`.
    pub fn variable(&mut self, given: &[u8]) -> Result<(), FlagError> {
        let text = String::from_utf8_lossy(given);
        let (name, value) = match given.iter().position(|byte| *byte == b'=') {
            Some(at) => (given.get(..at), given.get(at + 1..)),
            None => (Some(given), None),
        };
        let refuse = |problem| FlagError::Variable { given: text.to_string(), problem };
        let name = std::str::from_utf8(name.unwrap_or_default())
            .map_err(|_| refuse("the name is not text"))?;
        variables::check_name(name).map_err(refuse)?;
        if value.is_some_and(|value| value.contains(&0)) {
            return Err(refuse("the value has a NUL in it"));
        }
        let value = value.map(|value| ByteString::from(value.to_vec()));
        let origin = RuleOrigin::Flag(format!("--env {name}"));
        self.env.insert(name.to_owned(), EnvironmentRule { value, origin });
        Ok(())
    }

    /// `--command NAME`, `--command base` or `--command none`. Names add up to a list.
    pub fn command(&mut self, given: &str) -> Result<(), FlagError> {
        self.commands = Some(match (given, self.commands.take()) {
            ("base", _) => Commands::Base,
            ("none", _) => Commands::None,
            (name, earlier) => {
                check_command_name(name).map_err(|(problem, _)| FlagError::Command {
                    given: name.to_owned(),
                    problem,
                })?;
                let mut names = match earlier {
                    Some(Commands::Listed(names)) => names,
                    _ => BTreeSet::new(),
                };
                names.insert(name.to_owned());
                Commands::Listed(names)
            }
        });
        Ok(())
    }

    /// `--seccomp default` or `--seccomp relaxed`.
    pub fn seccomp(&mut self, given: &str) -> Result<(), FlagError> {
        self.seccomp = Some(match given {
            "default" => Seccomp::Default,
            "relaxed" => Seccomp::Relaxed,
            _ => return Err(word("--seccomp", given, "`default` or `relaxed`")),
        });
        Ok(())
    }

    /// `--state ephemeral` or `--state scratch`.
    pub fn state(&mut self, given: &str) -> Result<(), FlagError> {
        self.state = Some(match given {
            "ephemeral" => State::Ephemeral,
            "scratch" => State::Scratch,
            _ => return Err(word("--state", given, "`ephemeral` or `scratch`")),
        });
        Ok(())
    }

    /// `--net DESTINATION`, or several with commas between them.
    pub fn destinations(&mut self, given: &str) -> Result<(), FlagError> {
        given.split(',').try_for_each(|one| self.destination(one))
    }

    fn destination(&mut self, given: &str) -> Result<(), FlagError> {
        let refuse = |error| FlagError::Destination { given: given.to_owned(), error };
        let destination = host_names::destination(given).map_err(refuse)?;
        if destination.is_every_address() {
            return Err(refuse(DestinationError::EveryHost));
        }
        self.allow.insert(destination, RuleOrigin::Flag(format!("--net {given}")));
        if self.allow.len() > MAX_NETWORK_ENTRIES {
            return Err(FlagError::TooManyDestinations);
        }
        Ok(())
    }

    /// `--host-port PORT`, or several with commas between them.
    pub fn host_ports(&mut self, given: &str) -> Result<(), FlagError> {
        let flag = "--host-port";
        add_ports(flag, given, &mut self.host_ports, &self.publish)
    }

    /// `--publish PORT`, or several with commas between them.
    pub fn publish(&mut self, given: &str) -> Result<(), FlagError> {
        let flag = "--publish";
        add_ports(flag, given, &mut self.publish, &self.host_ports)
    }

    /// `--no-net`.
    pub fn no_net(&mut self) {
        self.no_net = true;
    }

    /// `--memory 512M`.
    pub fn memory(&mut self, given: &str) -> Result<(), FlagError> {
        let units = [('M', 1), ('G', 1024), ('T', 1024 * 1024)];
        let digits = given.trim_end_matches('B').trim_end_matches('i');
        let megabytes = units
            .iter()
            .find_map(|(unit, factor)| whole(digits.strip_suffix(*unit)?)?.checked_mul(*factor));
        let expected = "a size such as `512M` or `2G`, at least `16M`";
        self.limits.memory_mb = Some(within(megabytes, &MEMORY_MB, "--memory", given, expected)?);
        Ok(())
    }

    /// `--pids 128`.
    pub fn pids(&mut self, given: &str) -> Result<(), FlagError> {
        let expected = "a number from 1 to 4194304";
        self.limits.pids = Some(within(whole(given), &PIDS, "--pids", given, expected)?);
        Ok(())
    }

    /// `--cpus 1.5`.
    pub fn cpus(&mut self, given: &str) -> Result<(), FlagError> {
        let expected = "a number of processors such as `1.5`, at least `0.01`";
        let plain = given.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let millis = millis_of(given).filter(|_| plain).map(i64::from);
        self.limits.cpu_millis = Some(within(millis, &CPU_MILLIS, "--cpus", given, expected)?);
        Ok(())
    }

    /// `--time 90`, `--time 10m`.
    pub fn time(&mut self, given: &str) -> Result<(), FlagError> {
        let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
        let with_unit = units
            .iter()
            .find_map(|(unit, factor)| whole(given.strip_suffix(*unit)?)?.checked_mul(*factor));
        let seconds = with_unit.or_else(|| whole(given));
        let expected =
            "a time such as `90s`, `10m` or `2h`, at least one second; leave it out for no limit";
        self.limits.walltime_sec = Some(within(seconds, &WALLTIME_SEC, "--time", given, expected)?);
        Ok(())
    }

    /// The first flag that means nothing without a cage; the time limit is the only one that does. K162
    pub fn that_needs_a_cage(&self) -> Option<String> {
        let Self { fs, env, commands, allow, host_ports, publish, no_net, state, seccomp, limits } =
            self;
        let origins = (fs.iter().map(|rule| &rule.origin))
            .chain(env.values().map(|rule| &rule.origin))
            .chain(allow.values())
            .chain(host_ports.values())
            .chain(publish.values());
        let words = [
            ("--command", commands.is_some()),
            ("--no-net", *no_net),
            ("--state", state.is_some()),
            ("--seccomp", seccomp.is_some()),
            ("--memory", limits.memory_mb.is_some()),
            ("--pids", limits.pids.is_some()),
            ("--cpus", limits.cpu_millis.is_some()),
        ];
        let word = words.iter().find(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned());
        origins.map(ToString::to_string).next().or(word)
    }

    /// Whether any flag names a path: without a policy file, only then is the working directory
    /// not granted by itself.
    pub fn has_paths(&self) -> bool {
        !self.fs.is_empty()
    }
}

impl Policy {
    /// This policy as the user wants it for one run. Rules, variables and destinations are added,
    /// a rule on the same path, a variable of the same name and a port in the other direction
    /// replaced; single words and limits are replaced. See the module's documentation for who may call this.
    pub fn with_user_flags(&self, flags: &Flags) -> Self {
        let mut policy = self.clone();
        let named: BTreeSet<_> = flags.fs.iter().map(|rule| &rule.path).collect();
        policy.fs.retain(|rule| !named.contains(&rule.path));
        policy.fs.extend(flags.fs.iter().cloned());
        policy.env.extend(flags.env.clone());
        policy.net.allow.extend(flags.allow.clone());
        policy.net.host_ports.retain(|port, _| !flags.publish.contains_key(port));
        policy.net.publish.retain(|port, _| !flags.host_ports.contains_key(port));
        policy.net.host_ports.extend(flags.host_ports.clone());
        policy.net.publish.extend(flags.publish.clone());
        if flags.no_net {
            policy.net.disconnect();
        }
        policy.commands = flags.commands.clone().unwrap_or(policy.commands);
        policy.state = flags.state.unwrap_or(policy.state);
        policy.seccomp = flags.seccomp.unwrap_or(policy.seccomp);
        policy.limits = Limits {
            memory_mb: flags.limits.memory_mb.or(policy.limits.memory_mb),
            cpu_weight: flags.limits.cpu_weight.or(policy.limits.cpu_weight),
            cpu_millis: flags.limits.cpu_millis.or(policy.limits.cpu_millis),
            pids: flags.limits.pids.or(policy.limits.pids),
            walltime_sec: flags.limits.walltime_sec.or(policy.limits.walltime_sec),
        };
        policy
    }
}

/// A port can lead outward or inward, not both.
fn add_ports(
    flag: &'static str,
    given: &str,
    ports: &mut BTreeMap<u16, RuleOrigin>,
    others: &BTreeMap<u16, RuleOrigin>,
) -> Result<(), FlagError> {
    for one in given.split(',') {
        let refuse = |problem| FlagError::Port { flag, given: one.to_owned(), problem };
        let number = whole(one).ok_or_else(|| refuse(NOT_ONE_NUMBER))?;
        let port = net::port(number).map_err(refuse)?;
        let later = format!("{flag} {one}");
        if let Some(earlier) = others.get(&port) {
            return Err(FlagError::Contradiction { earlier: earlier.to_string(), later });
        }
        ports.insert(port, RuleOrigin::Flag(later));
    }
    Ok(())
}

/// Also for `8080:80`, which others take.
const NOT_ONE_NUMBER: &str = "one number is expected; a port is the same inside and outside";

fn word(flag: &'static str, given: &str, expected: &'static str) -> FlagError {
    FlagError::Word { flag, given: given.to_owned(), expected }
}

fn whole(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn within<T: TryFrom<i64>>(
    number: Option<i64>,
    bounds: &Bounds,
    flag: &'static str,
    given: &str,
    expected: &'static str,
) -> Result<T, FlagError> {
    number
        .filter(|number| (bounds.least..=bounds.most).contains(number))
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| FlagError::Number { flag, given: given.to_owned(), expected })
}
