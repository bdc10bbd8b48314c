//! Lines of the list of attacks, or parts of them, that are not in this crate, and why: they have
//! nothing to attack yet, or need servers and names of their own and are attacked by other tests. A
//! line leaves its table when it can be attacked here.

/// One line, or part of one.
#[derive(Clone, Copy, Debug)]
pub struct Later {
    /// The line.
    pub id: &'static str,
    /// Which part of it.
    pub part: &'static str,
    /// What it waits for.
    pub waits_for: &'static str,
}

/// Everything that is not attacked yet.
pub const LATER: &[Later] = &[
    later("T1", "diff, commit and tool file system as the helper that follows a link", OVERLAY),
    later(
        "T12",
        "whiteouts, opaque and redirect attributes, copy-up, commit of special files",
        OVERLAY,
    ),
    later("T13", "poisoned diffs and commits", OVERLAY),
    later("T47", "sending out through what is allowed", REQUESTS),
    later("T48", "stealing a credential that is put in on the way", CREDENTIALS),
    later("T49", "the authority that opens TLS on the way", CREDENTIALS),
    later(
        "T51",
        "a child cage that a daemon builds: its proxy token, upper directory and name",
        DAEMON,
    ),
    later("T52", "malformed messages on a control socket", DAEMON),
    later("T53", "spoofed and flooded approval prompts", DAEMON),
    later("T54", "sweeping what a killed daemon left", DAEMON),
    later("T55", "settings that change while a cage runs", DAEMON),
    later("T65", "WASM and JavaScript programs", "guests"),
];

/// A line that tests of another crate attack, with twins of their own.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// The line.
    pub id: &'static str,
    /// The file below `crates` that names it.
    pub file: &'static str,
}

/// Everything that is attacked elsewhere.
pub const ELSEWHERE: &[Elsewhere] = &[
    elsewhere("T37", "cli/tests/network/proxies.rs"),
    elsewhere("T38", "cli/tests/network/ways_around.rs"),
    elsewhere("T39", "cli/tests/network/ways_around.rs"),
    elsewhere("T40", "cli/tests/network/proxies.rs"),
    elsewhere("T41", "cli/tests/network/ways_around.rs"),
    elsewhere("T42", "cli/tests/network/ways_around.rs"),
    elsewhere("T43", "cli/tests/network/ways_around.rs"),
    elsewhere("T52", "cli/tests/behaviour/audit.rs"),
    elsewhere("T76", "cli/tests/behaviour/aftermath.rs"),
];

const fn elsewhere(id: &'static str, file: &'static str) -> Elsewhere {
    Elsewhere { id, file }
}

const fn later(id: &'static str, part: &'static str, waits_for: &'static str) -> Later {
    Later { id, part, waits_for }
}

const OVERLAY: &str = "copy-on-write grants";
const REQUESTS: &str = "rules on methods, paths and amounts";
const CREDENTIALS: &str = "injected credentials";
const DAEMON: &str = "the daemon";
