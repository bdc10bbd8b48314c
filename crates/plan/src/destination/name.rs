//! A host name as a program asks for it: the one place where names from outside the policy are
//! normalised. ASCII alone: a name in another script has to come in its `xn--` form, because two
//! that look alike would otherwise be told apart by whoever converts them last.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A host name in its normal form: lower case, no trailing dot, every label checked. Holding one
/// proves that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Why a text is no host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No label at all.
    #[error("the name is empty")]
    Empty,
    /// More than 253 characters.
    #[error("the name is longer than 253 characters")]
    TooLong,
    /// A label that is empty, longer than 63 characters, or has another character than letters,
    /// digits, `-` and `_`.
    #[error("a label of the name is not one of a host name")]
    BadLabel,
    /// An address, or something that some resolvers take for one.
    #[error("the name is an address or could be taken for one")]
    LooksLikeAddress,
}

impl Name {
    /// Normalises a name. At most one trailing dot is taken off.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > MAX_NAME {
            return Err(NameError::TooLong);
        }
        if !text.split('.').all(is_label) {
            return Err(NameError::BadLabel);
        }
        let last = text.rsplit('.').next().unwrap_or_default();
        let hexadecimal =
            last.len() > 2 && last.get(..2).is_some_and(|p| p.eq_ignore_ascii_case("0x"));
        if hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NameError::LooksLikeAddress);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The normal form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

/// Underscores are no part of a host name and yet of many names that are asked for.
fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_LABEL).contains(&label.len())
        && label.bytes().all(allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;
