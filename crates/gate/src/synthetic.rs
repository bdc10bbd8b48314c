//! The addresses that stand for names inside one cage: what a program gets for an allowed name, and how
//! a connection to it is turned back into the name. Never an address that anything outside answers to.
//!
//! Each cage has its own map, so that an address learned in one says nothing in another. A name keeps
//! its address for the cage's life: programs hold on to answers far beyond their time to live.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use plan::destination::Name;

/// The two addresses of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntheticPair {
    /// Out of `198.18.0.0/15`.
    pub v4: Ipv4Addr,
    /// Out of `100::/64`.
    pub v6: Ipv6Addr,
}

/// A cage has asked for more names than a map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cage has asked for {MAX_NAMES} names, and more are not kept apart")]
pub struct MapFull;

/// Names and their addresses in one cage.
#[derive(Clone, Debug)]
pub struct SyntheticMap {
    seed: u64,
    /// How far the order has been walked; runs ahead of the names by the addresses that are skipped.
    walked: u32,
    pairs: BTreeMap<Name, SyntheticPair>,
    // INVARIANT: these two and `pairs` have the same names, each once.
    by_v4: BTreeMap<Ipv4Addr, Name>,
    by_v6: BTreeMap<Ipv6Addr, Name>,
}

impl SyntheticMap {
    /// An empty map. The seed gives the order of the addresses; another for each cage keeps programs
    /// from relying on one.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            walked: 0,
            pairs: BTreeMap::new(),
            by_v4: BTreeMap::new(),
            by_v6: BTreeMap::new(),
        }
    }

    /// The addresses of a name: those it had before, or new ones.
    pub fn assign(&mut self, name: &Name) -> Result<SyntheticPair, MapFull> {
        if let Some(pair) = self.pairs.get(name) {
            return Ok(*pair);
        }
        if self.pairs.len() >= MAX_NAMES {
            return Err(MapFull);
        }
        let pair = self.next_pair();
        self.pairs.insert(name.clone(), pair);
        self.by_v4.insert(pair.v4, name.clone());
        self.by_v6.insert(pair.v6, name.clone());
        Ok(pair)
    }

    /// The addresses of a name, if it has some.
    pub fn pair_of(&self, name: &Name) -> Option<SyntheticPair> {
        self.pairs.get(name).copied()
    }

    /// The name that an address stands for.
    pub fn name_of(&self, address: IpAddr) -> Option<&Name> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.by_v4.get(&address),
            IpAddr::V6(address) => self.by_v6.get(&address),
        }
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is no name yet.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Both orders are permutations, so no two steps give the same address. At most a 128th of the
    /// addresses is skipped and a 16th is ever used, so the walk never comes round.
    fn next_pair(&mut self) -> SyntheticPair {
        loop {
            let step = self.walked;
            self.walked = self.walked.wrapping_add(1);
            let index = permuted_17_bits(step, self.seed);
            let v6 = permuted_64_bits(u64::from(step), self.seed);
            // Some programs take a last byte of 0 or 255 for no host's.
            let usable = !matches!(index & 0xff, 0 | 0xff) && v6 != 0;
            if usable {
                return SyntheticPair {
                    v4: Ipv4Addr::from_bits(FIRST_V4 | index),
                    v6: Ipv6Addr::from_bits(FIRST_V6 | u128::from(v6)),
                };
            }
        }
    }
}

/// Whether an address is in the ranges that stand for names, whether it stands for one or not.
pub fn is_synthetic(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits() & !MASK_17_BITS == FIRST_V4,
        IpAddr::V6(address) => address.to_bits() >> 64 == FIRST_V6 >> 64,
    }
}

/// A permutation of the numbers of 17 bits: adding, multiplying by an odd number and shifting into
/// oneself each are one.
fn permuted_17_bits(step: u32, seed: u64) -> u32 {
    let [low, high] = [seed & u64::from(u32::MAX), seed >> 32].map(|half| half as u32);
    let mut value = step.wrapping_add(low) & MASK_17_BITS;
    for multiplier in [0x9e37_79b1, high | 1] {
        value = value.wrapping_mul(multiplier) & MASK_17_BITS;
        value ^= value >> 9;
        value = value.wrapping_add(high >> 15) & MASK_17_BITS;
    }
    value
}

/// A permutation of the numbers of 64 bits: the finaliser of splitmix64 on a shifted count.
fn permuted_64_bits(step: u64, seed: u64) -> u64 {
    let mut value = step.wrapping_add(seed);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// How many names one cage may have.
pub const MAX_NAMES: usize = 8192;

const MASK_17_BITS: u32 = 0x1_ffff;
const FIRST_V4: u32 = Ipv4Addr::new(198, 18, 0, 0).to_bits();
const FIRST_V6: u128 = Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0).to_bits();

#[cfg(test)]
mod tests;
