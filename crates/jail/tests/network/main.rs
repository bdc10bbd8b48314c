//! A cage's sealed network, with the sockets of the gatekeeper held by the tests: what arrives
//! there and as what, what arrives nowhere, and what a program can do about it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

mod arrivals;
mod fallback;
mod held;
mod inside;
mod inward;
mod oracle;
mod refusals;

fn main() {
    // The program of these tests is this very one.
    if let Some(actions) = inside::asked_for() {
        return inside::act(&actions);
    }
    support::run_single_threaded(&[
        ("tcp_arrives_with_its_destination", arrivals::tcp_arrives_with_its_destination),
        ("questions_arrive_with_their_server", arrivals::questions_arrive_with_their_server),
        (
            "proxies_and_host_ports_are_on_loopback",
            arrivals::proxies_and_host_ports_are_on_loopback,
        ),
        ("loopback_is_all_there_is", arrivals::loopback_is_all_there_is),
        ("own_addresses_stay_own", arrivals::own_addresses_stay_own),
        (
            "names_of_either_family_can_be_asked_for",
            arrivals::names_of_either_family_can_be_asked_for,
        ),
        ("sockets_are_none_of_pid_1s", arrivals::sockets_are_none_of_pid_1s),
        ("other_datagrams_are_refused_and_told", refusals::other_datagrams_are_refused_and_told),
        ("raw_sockets_are_refused", refusals::raw_sockets_are_refused),
        ("the_network_cannot_be_changed", refusals::the_network_cannot_be_changed),
        ("the_hosts_loopback_is_another", refusals::the_hosts_loopback_is_another),
        (
            "a_cage_whose_sockets_nobody_takes_never_starts",
            refusals::a_cage_whose_sockets_nobody_takes_never_starts,
        ),
        ("nothing_is_open_without_rules", refusals::nothing_is_open_without_rules),
        ("nft_reads_the_rules_as_they_are_meant", oracle::nft_reads_the_rules_as_they_are_meant),
        ("ip_reads_the_routes_as_they_are_meant", oracle::ip_reads_the_routes_as_they_are_meant),
        (
            "translated_connections_tell_their_destination",
            oracle::translated_connections_tell_their_destination,
        ),
        ("published_ports_are_reached", inward::published_ports_are_reached),
        ("a_full_queue_blocks_nobody", inward::a_full_queue_blocks_nobody),
        (
            "ports_are_listened_on_without_nf_tables",
            fallback::ports_are_listened_on_without_nf_tables,
        ),
        ("a_trial_finds_the_same", fallback::a_trial_finds_the_same),
        ("what_cannot_be_held_is_refused", fallback::what_cannot_be_held_is_refused),
    ]);
}
