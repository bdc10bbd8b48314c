//! What modules were compiled to in this pool: by one of its guests before it began, for all that come later. Code that is
//! not sealed, because that guest did not come so far, is not looked at.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, OwnedFd};

use engines::GuestKind;
use engines::wasm::{CodeDigest, Compiled, Wasm};
use rustix::fs::{MemfdFlags, SealFlags};

/// The modules that are compiled, the oldest first.
#[derive(Default)]
pub(super) struct Modules {
    all: VecDeque<Known>,
    bytes: usize,
}

struct Known {
    module: CodeDigest,
    code: Compiled,
    bytes: usize,
}

impl Modules {
    /// What the module with this digest was compiled to.
    pub(super) fn get(&self, module: CodeDigest) -> Option<&Compiled> {
        self.all.iter().find(|known| known.module == module).map(|known| &known.code)
    }

    /// Takes what a guest has written: whether there is a new one.
    pub(super) fn take(&mut self, wasm: &Wasm, written: OwnedFd) -> bool {
        let Some((kind, module, code)) = sealed(written) else { return false };
        if self.get(module).is_some() {
            return false;
        }
        let Ok(compiled) = wasm.load(&code, CodeDigest::of(&code), kind) else { return false };
        if compiled.get_ready().is_err() {
            return false;
        }
        self.bytes = self.bytes.saturating_add(code.len());
        self.all.push_back(Known { module, code: compiled, bytes: code.len() });
        while self.all.len() > MOST_MODULES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.all.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
        }
        true
    }
}

/// Where a guest may write what it compiled.
pub(super) fn place() -> rustix::io::Result<OwnedFd> {
    rustix::fs::memfd_create("code", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
}

/// Writes what a module was compiled to, and lets nobody change it any more. A guest does so before its module begins: what
/// is compiled is the engine's work and nothing of the guest's.
pub(super) fn write(place: OwnedFd, module: CodeDigest, code: &Compiled) -> std::io::Result<()> {
    let is_component = [u8::from(code.kind() == GuestKind::Component)];
    let code = code.serialize().map_err(std::io::Error::other)?;
    if code.len() > MOST_BYTES {
        return Ok(());
    }
    let mut file = File::from(place);
    file.write_all(&is_component)?;
    file.write_all(module.to_string().as_bytes())?;
    file.write_all(&code)?;
    rustix::fs::fcntl_add_seals(&file, all_seals())?;
    Ok(())
}

fn sealed(written: OwnedFd) -> Option<(GuestKind, CodeDigest, Vec<u8>)> {
    if rustix::fs::fcntl_get_seals(written.as_fd()).ok()? != all_seals() {
        return None;
    }
    let mut file = File::from(written);
    file.seek(SeekFrom::Start(0)).ok()?;
    let (mut is_component, mut module) = ([0], [0; DIGITS]);
    file.read_exact(&mut is_component).ok()?;
    file.read_exact(&mut module).ok()?;
    let mut code = Vec::new();
    file.read_to_end(&mut code).ok()?;
    let kind = if is_component == [1] { GuestKind::Component } else { GuestKind::Module };
    Some((kind, CodeDigest::from_digits(std::str::from_utf8(&module).ok()?)?, code))
}

fn all_seals() -> SealFlags {
    SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL
}

/// Of the module, before its code.
const DIGITS: usize = 64;
const MOST_MODULES: usize = 64;
const MOST_BYTES: usize = 256 << 20;

#[cfg(test)]
mod tests;
