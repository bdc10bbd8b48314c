//! One word of a command line, as a shell takes it.

use crate::ByteString;

/// A word as a shell takes it, without anything that a terminal would act on. Letters of every script stay letters.
pub fn for_shell(word: &ByteString) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(byte);
    let visible = |one: char| (' '..='~').contains(&one) || one.is_alphanumeric();
    let bytes = word.as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && bytes.iter().all(plain) => return text.to_owned(),
        Ok(text) if text.chars().all(visible) => {
            return format!("'{}'", text.replace('\'', "'\\''"));
        }
        _ => {}
    }
    let mut escaped = String::new();
    let push_bytes = |escaped: &mut String, bytes: &[u8]| {
        escaped.extend(bytes.iter().map(|byte| format!("\\x{byte:02x}")));
    };
    for chunk in bytes.utf8_chunks() {
        for one in chunk.valid().chars() {
            match one {
                '\'' | '\\' => escaped.extend(['\\', one]),
                '\n' => escaped.push_str("\\n"),
                '\t' => escaped.push_str("\\t"),
                one if visible(one) => escaped.push(one),
                one => push_bytes(&mut escaped, one.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        push_bytes(&mut escaped, chunk.invalid());
    }
    format!("$'{escaped}'")
}
