//! What a crash leaves of a store. A process that writes is killed at any point, and a machine that stops is imitated by
//! copies of the files in which what was not synced is torn. What was synced is there, and the store agrees with itself.
//!
//! `STOCKADE_STORE_CRASHES=1000` makes it a long run; `STOCKADE_STORE_SEED` says where it begins.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod kill;
mod open;
mod torn;
mod work;

fn crashes(usual: u64) -> u64 {
    std::env::var("STOCKADE_STORE_CRASHES").map_or(usual, |text| text.parse().unwrap())
}

fn first_seed() -> u64 {
    std::env::var("STOCKADE_STORE_SEED").map_or(1, |text| text.parse().unwrap())
}
