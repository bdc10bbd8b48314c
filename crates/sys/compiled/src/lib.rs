//! Loads the machine code of WASM modules and components that were compiled before. To load code is to run it: nothing is loaded but bytes
//! with the digest that whoever had them compiled has noted, and scripts that the build has compiled. A crate of its own beside `sys`, so that only the program that
//! runs guests is linked with an engine.
//!
//! Never reads a file and never decides where a digest comes from.
#![allow(unsafe_code)]

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

mod scripts;
#[cfg(test)]
mod tests;

pub use scripts::script;

/// The SHA-256 of code, from somebody who has seen it come out of the compiler. Holding one says that whoever wrote it down
/// is trusted with the code: it must never come from a file or a word that a guest can write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodeDigest([u8; 32]);

/// Why code was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Somebody has changed it.
    #[error("it is not the code that was compiled")]
    Different,
    /// Another version or other settings of the engine have made it.
    #[error("the engine does not take it: {0}")]
    Refused(String),
}

impl CodeDigest {
    /// The digest of code that has just been compiled.
    pub fn of(code: &[u8]) -> Self {
        Self(Sha256::digest(code).into())
    }

    /// The one that 64 digits spell.
    pub fn from_digits(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != bytes.len() * 2 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            if !pair.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
                return None;
            }
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl std::fmt::Display for CodeDigest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl std::fmt::Debug for CodeDigest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "CodeDigest({self})")
    }
}

/// The component whose code this is: never that of a module, which the engine tells apart.
///
/// # Errors
///
/// If it is not the code with this digest, that of a module, or another engine's.
pub fn load_component(
    engine: &Engine,
    code: &[u8],
    expected: CodeDigest,
) -> Result<Component, LoadError> {
    if CodeDigest::of(code) != expected {
        return Err(LoadError::Different);
    }
    // SAFETY: `deserialize` takes only what `Engine::precompile_component` has returned, unmodified. The comparison above proves
    // that the bytes are those whose digest was noted when they came out of the compiler; they are in memory of this process
    // that nobody else writes to, and `deserialize` copies them before it returns. Code of a module, of another version or with
    // other settings is refused by the engine itself.
    let component = unsafe { Component::deserialize(engine, code) };
    component.map_err(|error| LoadError::Refused(format!("{error:#}")))
}

/// The module whose code this is.
///
/// # Errors
///
/// If it is not the code with this digest, or another engine's.
pub fn load(engine: &Engine, code: &[u8], expected: CodeDigest) -> Result<Module, LoadError> {
    if CodeDigest::of(code) != expected {
        return Err(LoadError::Different);
    }
    // SAFETY: `deserialize` takes only what `Engine::precompile_module` has returned, unmodified. The comparison above proves
    // that the bytes are those whose digest was noted when they came out of it; they are in memory of this process that
    // nobody else writes to, and `deserialize` copies them before it returns. Code of another version or with other
    // settings is refused by the engine itself.
    let module = unsafe { Module::deserialize(engine, code) };
    module.map_err(|error| LoadError::Refused(format!("{error:#}")))
}
