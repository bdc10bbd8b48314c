//! Runners: many cages from many threads, their output, their time, their end, and what is left of
//! them when something fails.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod bounds;
mod deaths;
mod ends;
mod output;
mod records;
#[path = "../../../jail/tests/support/mod.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod single;
mod starts;
mod support;
mod uncaged;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, state, mark] = arguments.as_slice()
        && word == deaths::SUPERVISOR
    {
        return deaths::supervise(state, mark);
    }
    let tests: Vec<(&str, fn())> = [
        starts::TESTS,
        output::TESTS,
        ends::TESTS,
        uncaged::TESTS,
        records::TESTS,
        bounds::TESTS,
        deaths::TESTS,
    ]
    .concat();
    single::run_single_threaded(&tests);
}
