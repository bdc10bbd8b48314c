//! What this user's package clients are configured for: the registries that they ask, the certificates
//! that they trust, and the settings that lead them there. One file for each client. A setting goes
//! inside without the secrets in it, or not at all; a client that is not installed asks for nothing.

mod cargo;
mod certificates;
mod git;
mod go;
mod lines;
mod maven;
mod npm;
mod pip;

use crate::address::Address;
use crate::draft::{Draft, Table};
use crate::host::Host;
use crate::project::Language;

/// One family of package clients.
struct Client {
    language: Language,
    /// One of these is there, or nothing is asked for.
    programs: &'static [&'static str],
    add: fn(&mut Draft, &Host),
}

/// Adds what every client that is found needs.
pub(crate) fn add(draft: &mut Draft, host: &Host) {
    certificates::add(draft, host);
    for client in CLIENTS.iter().filter(|client| host.has_any(client.programs)) {
        (client.add)(draft, host);
    }
}

/// Adds the registries of one language, as this user's clients are configured for them, and nothing else.
pub(crate) fn add_registries(draft: &mut Draft, host: &Host, language: Language) {
    for client in CLIENTS.iter().filter(|client| client.language == language) {
        let mut whole = Draft::new(Table::Cage, "registries", &[]);
        (client.add)(&mut whole, host);
        draft.take_hosts(whole);
    }
}

pub(crate) use git::identity as git_identity;

/// Lets the program reach the registry at an address: by name, or on this machine's loopback.
fn reach(draft: &mut Draft, why: &str, address: &Address) {
    if address.is_loopback() {
        draft.host_port(why, address.port);
    } else {
        draft.host(why, &address.entry());
    }
}

/// The registries that a client asks where nothing else is configured.
fn reach_all(draft: &mut Draft, why: &str, hosts: &[&str]) {
    hosts.iter().for_each(|host| draft.host(why, &format!("{host}:443")));
}

const CLIENTS: &[Client] = &[
    Client { language: Language::Rust, programs: &["cargo"], add: cargo::add },
    Client { language: Language::Node, programs: &["npm", "pnpm", "yarn", "bun"], add: npm::add },
    Client {
        language: Language::Python,
        programs: &["pip", "pip3", "python3", "python", "uv", "poetry", "conda"],
        add: pip::add,
    },
    Client { language: Language::Go, programs: &["go"], add: go::add },
    Client {
        language: Language::Java,
        programs: &["mvn", "gradle", "java", "javac"],
        add: maven::add,
    },
];
