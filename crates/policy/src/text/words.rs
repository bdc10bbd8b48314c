//! Every word of the policy language, table by table, with its one-line meaning. The decoder, the
//! JSON schema and the test of the manual all read this list; a word that is not here does not
//! exist.

/// A word and what it says.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub name: &'static str,
    /// One sentence.
    pub meaning: &'static str,
}

const fn word(name: &'static str, meaning: &'static str) -> Word {
    Word { name, meaning }
}

/// The top of a project's file.
pub const PROJECT: &[Word] = &[
    word("version", "The version of the language: 1."),
    word("defaults", "What every cage of this file has unless it says otherwise."),
    word("cage", "Cages by name."),
    word("agent", "Agents by name, each of which refers to a cage."),
];

/// The top of the user's configuration.
pub const USER: &[Word] = &[
    word("version", "The version of the language: 1."),
    word("defaults", "What every cage of this file has unless it says otherwise."),
    word("cage", "Cages by name."),
    word("agent", "Agents by name, each of which refers to a cage."),
    word("profile", "Profiles by name, for any project: `stockade run -p NAME`."),
    word("ceiling", "The most that a project's own file may ask for without being approved."),
    word("network", "How this machine reaches the network."),
];

/// `[cage.NAME]`.
pub const CAGE: &[Word] = &[
    word("extends", "Another cage of this file, of which this one can only be a part."),
    word("fs", "Which paths exist inside, and how; the most specific path wins."),
    word("mounts", "Files at places of the cage's own, from memory, a store or far away."),
    word("commands", "Which programs of the system exist inside."),
    word("env", "Which variables the program gets."),
    word("net", "Which hosts the program may reach."),
    word("state", "Whether /scratch outlives a run."),
    word("home", "Whether the cage's own home outlives a run."),
    word("seccomp", "Which system call profile holds."),
    word("limits", "How much the program may use."),
];

/// `[profile.NAME]` of the user's configuration.
pub const PROFILE: &[Word] = &[
    word("from", "The profile that this one adds to; its own name stands for the built-in one."),
    word("fs", "Which paths exist inside, and how; joined with those of `from`."),
    word("mounts", "Files at places of the cage's own; joined with those of `from`."),
    word("commands", "Which programs of the system exist inside."),
    word("env", "Which variables the program gets; joined with those of `from`."),
    word("net", "Which hosts the program may reach; joined with those of `from`."),
    word("home", "Whether the cage's own home outlives a run."),
    word("state", "Whether /scratch outlives a run."),
    word("seccomp", "Which system call profile holds."),
    word("limits", "How much the program may use."),
];

/// `[defaults]`: as a cage, without `extends`.
pub const DEFAULTS: &[Word] = &[
    word("fs", "Rules on paths that every cage has; a cage's own rule on the same path wins."),
    word("mounts", "Files at places of its own that every cage has."),
    word("commands", "Which programs of the system exist inside."),
    word("env", "Variables that every cage has."),
    word("net", "Hosts that every cage may or may not reach."),
    word("state", "Whether /scratch outlives a run."),
    word("home", "Whether the cage's own home outlives a run."),
    word("seccomp", "Which system call profile holds."),
    word("limits", "How much a program may use; the only word that holds for a disabled cage too."),
];

/// `[ceiling]` of the user's configuration.
pub const CEILING: &[Word] = &[
    word("fs", "The widest access to paths; replaces the project's own tree, read-write."),
    word("mounts", "Stores that may be mounted, and how; at any place."),
    word("commands", "The most programs."),
    word("env", "Names of variables that may be passed on; a final `*` stands for any ending."),
    word("net", "The hosts that may be allowed, and those that are always denied."),
    word("state", "The longest life of /scratch."),
    word("home", "The longest life of a cage's own home."),
    word("seccomp", "The widest system call profile."),
    word("limits", "Bounds that hold for every cage of a project."),
];

/// One entry of `fs`.
pub const RULE: &[Word] = &[
    word("ro", "The path exists inside and can be read; programs on it can be started."),
    word("rw", "As `ro`, and files can be made and changed."),
    word("cow", "As `rw` inside; the host's files stay as they are until the changes are applied."),
    word("cache", "As `cow`; the changes are kept for the project and never applied."),
    word("hide", "The path shows as empty, although a wider rule grants what is around it."),
];

/// One entry of `mounts`.
pub const MOUNT: &[Word] = &[
    word("at", "The place inside; in the cage's own memory, such as `/mnt/data`."),
    word(
        "from",
        "`memory:`, `dir:PATH`, `store:PATH`, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`, `gdrive:FOLDER`.",
    ),
    word("rw", "Whether files can be made and changed; without it, not, but in memory."),
];

/// `net`.
pub const NET: &[Word] = &[
    word("allow", "Hosts, networks and ports that can be reached; without it, none."),
    word(
        "deny",
        "Hosts, networks and ports that cannot be reached although an entry of `allow` covers them.",
    ),
    word("reasons", "Sentences that a program is told when a host is refused, by host."),
    word(
        "host_ports",
        "Ports of the host's loopback that the cage's own loopback leads to; `\"model\"` for the model service.",
    ),
    word("publish", "Ports of the cage's loopback that the host's loopback leads to."),
];

/// `[network]` of the user's configuration.
pub const NETWORK: &[Word] = &[
    word("resolvers", "Servers that are asked about names; without it, those of the host."),
    word("proxy", "The HTTP proxy through which connections leave, or \"environment\"."),
    word("log_allowed", "Which share of allowed connections is recorded, 0 to 1; without it, 0."),
];

/// `limits`.
pub const LIMITS: &[Word] = &[
    word("memory_mb", "Most memory, in MiB; at least 16."),
    word("cpu_shares", "Share of the processor relative to others, 2 to 262144."),
    word("cpu_weight", "The same on the scale of cgroup v2, 1 to 10000; instead of `cpu_shares`."),
    word("cpus", "Most processors' worth of time, such as 1.5; at least 0.01."),
    word("pids", "Most processes and threads; at least 1."),
    word("walltime_sec", "Longest life, in seconds; at least 1."),
    word(
        "tmp_mb",
        "Room in /tmp, and in /scratch where it is memory, in MiB; else all of `memory_mb`, or 1024.",
    ),
    word("home_mb", "Room in a home of the cage's own, in MiB; else all of `memory_mb`, or 1024."),
    word(
        "workspace_mb",
        "Most that changes of `cow`, `cache` and a kept home take, in MiB; 10240.",
    ),
];

/// `[agent.NAME]`.
pub const AGENT: &[Word] = &[
    word("cage", "The cage that the agent runs in, or \"disabled\"."),
    word("command", "The program that is the agent, with its arguments."),
];

/// The values of `state`.
pub const STATE: &[Word] = &[
    word("ephemeral", "Gone when the program ends."),
    word("scratch", "Kept for the next run of the same session."),
];

/// The values of `home`.
pub const HOME: &[Word] = &[
    word("memory", "Gone when the program ends."),
    word("kept", "Kept for the next run in the same project."),
];

/// The values of `seccomp`.
pub const SECCOMP: &[Word] = &[
    word("default", "The default profile."),
    word("relaxed", "For debuggers and profilers; reported as reduced isolation."),
];

/// The values of `commands` that are not a list.
pub const COMMANDS: &[Word] = &[
    word("base", "All of /usr."),
    word("none", "None: no shell, no program but one that a rule shows."),
];

/// The value of a cage, or of an agent's `cage`, that is not caged at all.
pub const DISABLED: &str = "disabled";

/// Every table with its name in the manual.
pub const TABLES: &[(&str, &[Word])] = &[
    ("project", PROJECT),
    ("user", USER),
    ("defaults", DEFAULTS),
    ("cage", CAGE),
    ("fs", RULE),
    ("mounts", MOUNT),
    ("net", NET),
    ("network", NETWORK),
    ("limits", LIMITS),
    ("agent", AGENT),
    ("profile", PROFILE),
    ("ceiling", CEILING),
    ("state", STATE),
    ("home", HOME),
    ("seccomp", SECCOMP),
    ("commands", COMMANDS),
];

/// The word that was likely meant.
pub fn meant<'word>(
    written: &str,
    known: impl IntoIterator<Item = &'word str>,
) -> Option<&'word str> {
    let written = written.to_lowercase();
    let distance =
        |candidate: &str| strsim::damerau_levenshtein(&written, &candidate.to_lowercase());
    known
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
