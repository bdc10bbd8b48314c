//! The key that signs checkpoints: made with the log, kept beside it, for its owner alone. Whoever has
//! the owner's rights has the key; what that means is said in `docs/audit.md`.

use std::io::Read as _;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use crate::directory::Directory;
use crate::error::AuditError;
use crate::hash::{bytes_of, hexadecimal};

/// A key that can sign.
#[derive(Debug)]
pub(crate) struct Key(SigningKey);

impl Key {
    /// The log's key.
    pub(crate) fn load(directory: &Directory) -> Result<Self, AuditError> {
        let problem = |problem| AuditError::Key { path: directory.path.join(KEY_FILE), problem };
        let Some(file) = directory.file_if_any(KEY_FILE, OFlags::RDONLY)? else {
            return Err(problem(IS_GONE));
        };
        let mut text = String::new();
        let read = std::fs::File::from(file).take(KEY_LENGTH + 1).read_to_string(&mut text);
        read.map_err(|_| problem("cannot be read"))?;
        let bytes = text.strip_suffix('\n').and_then(bytes_of).ok_or(problem("is not a key"))?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// The log's key, or a new one if there is none yet.
    pub(crate) fn load_or_make(directory: &Directory) -> Result<Self, AuditError> {
        match Self::load(directory) {
            Err(AuditError::Key { problem: IS_GONE, .. }) => Self::make(directory),
            loaded => loaded,
        }
    }

    /// The other half, as it stands in the log.
    pub(crate) fn public(&self) -> String {
        hexadecimal(self.0.verifying_key().as_bytes())
    }

    /// Signs a message.
    pub(crate) fn sign(&self, message: &str) -> String {
        hexadecimal(&self.0.sign(message.as_bytes()).to_bytes())
    }

    fn make(directory: &Directory) -> Result<Self, AuditError> {
        let mut bytes = [0_u8; 32];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match rustix::rand::getrandom(rest, GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(directory.failed("getrandom", "")(errno)),
            }
        }
        directory.make_file(KEY_FILE, format!("{}\n", hexadecimal(&bytes)).as_bytes())?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }
}

/// Whether a signature of a message is that of a public key, all as they stand in the log.
pub(crate) fn is_signed(public: &str, message: &str, signature: &str) -> bool {
    let verified = || {
        let key = VerifyingKey::from_bytes(&bytes_of(public)?).ok()?;
        let signature = Signature::from_bytes(&bytes_of(signature)?);
        // Strictly: no key and no signature that would fit several messages.
        key.verify_strict(message.as_bytes(), &signature).ok()
    };
    verified().is_some()
}

/// What is wrong with a key that is not there.
pub(crate) const IS_GONE: &str = "is gone";

pub(crate) const KEY_FILE: &str = "key";

/// 32 bytes as digits, and the end of the line.
const KEY_LENGTH: u64 = 65;
