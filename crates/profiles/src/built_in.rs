//! The built-in profiles, by name.

use crate::clients;
use crate::draft::{Draft, Table, Word};
use crate::host::Host;
use crate::{project, search_path, toolchains};

/// A built-in profile.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    draft: fn(&Host) -> Draft,
}

impl Known {
    /// Its text on this host.
    pub fn text(&self, host: &Host) -> String {
        (self.draft)(host).text()
    }
}

/// The built-in profile of a name.
pub fn known(name: &str) -> Option<&'static Known> {
    BUILT_IN.iter().find(|known| known.name == name)
}

/// All of them.
pub const BUILT_IN: &[Known] = &[
    Known { name: "code", about: CODE, draft: code },
    Known { name: "code-strict", about: CODE_STRICT, draft: code_strict },
    Known { name: "offline", about: OFFLINE, draft: offline },
    Known { name: "research", about: RESEARCH, draft: research },
];

const CODE: &str = "work on the project with your tool chains, registries and Git identity";
const CODE_STRICT: &str = "as `code`, with bounds and no network but loopback";
const OFFLINE: &str = "the project and the system's programs, and no network but loopback";
const RESEARCH: &str = "read the project, write to /scratch, reach the hosts that you name";

/// Profile `code`, to build upon.
pub fn code(host: &Host) -> Draft {
    let mut draft = Draft::new(
        Table::Profile,
        "code",
        &[
            "Profile `code` as it is on this host for you, made of what is on your `PATH` and in your home.",
            "Copied into your configuration it takes the place of the built-in one; to add to that instead:",
            "",
            "    [profile.code]",
            "    from = \"code\"",
            "    net.allow = [\"example.com:443\"]",
            "",
        ],
    );
    draft.project(host, PROJECT, Word::Cow);
    draft.word("A home that is kept for this project", "home", "\"kept\"");
    toolchains::show(&mut draft, host);
    toolchains::show_caches(&mut draft, host);
    search_path::show(&mut draft, host);
    clients::add(&mut draft, host);
    clients::git_identity(&mut draft, host);
    terminal(&mut draft, host);
    draft
}

fn code_strict(host: &Host) -> Draft {
    let about = [
        "Profile `code-strict` as it is on this host for you: as `code`, without network and with bounds.",
        "Where they cannot be held nothing runs; `--degraded-limits` allows that.",
        "",
    ];
    let mut draft = code(host).renamed(Table::Profile, "code-strict", &about);
    draft.disconnect();
    draft.word(
        "Bounds on the program and all that it starts",
        "limits",
        "{ memory_mb = 4096, pids = 1024, walltime_sec = 14400 }",
    );
    draft
}

fn offline(host: &Host) -> Draft {
    let about = [
        "Profile `offline`: the project, the programs of the system, and nothing else of this host.",
        "There is no network but the cage's own loopback.",
        "",
    ];
    let mut draft = Draft::new(Table::Profile, "offline", &about);
    draft.project(host, PROJECT, Word::Cow);
    terminal(&mut draft, host);
    draft
}

fn research(host: &Host) -> Draft {
    let about = [
        "Profile `research`: the project can be read and not changed; what is written goes to /scratch,",
        "to /tmp and to a home of its own. No host can be reached that you have not named, with `--net` or",
        "here. Whatever the program can read it can send to those: name them exactly.",
        "",
    ];
    let mut draft = Draft::new(Table::Profile, "research", &about);
    draft.project(host, "The project", Word::Read);
    for secret in project::look(host).secrets {
        if let Ok(path) = host.project.join(secret) {
            draft.path(host, "What looks like a secret by its name", Word::Hide, &path);
        }
    }
    terminal(&mut draft, host);
    draft
}

const PROJECT: &str = "The project; what is changed is yours to review and apply";

/// How to print, and nothing about who prints.
fn terminal(draft: &mut Draft, host: &Host) {
    for name in TERMINAL {
        draft.pass(host, "How to print", name);
    }
}

const TERMINAL: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "EDITOR",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LESS",
    "NO_COLOR",
    "PAGER",
    "TERM",
    "TZ",
    "VISUAL",
];
