//! Names and contents that a program chose, in a form that cannot act on a terminal or be mistaken for something
//! else. Never used for what a machine reads.

use plan::ByteString;
use policy::shown::misleads;

use crate::path::TreePath;

/// A name in the header of a diff, quoted as Git does where it has anything unusual in it.
pub(super) fn quoted(prefix: &[u8], path: &TreePath) -> String {
    let bytes = [prefix, path.as_bytes()].concat();
    let plain = std::str::from_utf8(&bytes).ok().filter(|text| {
        !text.chars().any(|character| misleads(character) || matches!(character, '"' | '\\'))
    });
    if let Some(plain) = plain {
        return plain.to_owned();
    }
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(byte)),
            other => text.push_str(&format!("\\{other:03o}")),
        }
    }
    text.push('"');
    text
}

/// A line of a file with everything made visible that could act on a terminal; tabs stay.
pub(super) fn push_visible(text: &mut Vec<u8>, content: &[u8]) {
    for chunk in content.utf8_chunks() {
        for character in chunk.valid().chars() {
            if misleads(character) && character != '\t' {
                text.extend_from_slice(character.escape_unicode().to_string().as_bytes());
            } else {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        if !chunk.invalid().is_empty() {
            text.extend_from_slice(ByteString::from(chunk.invalid()).to_string().as_bytes());
        }
    }
}
