//! One word of a command line, as a shell takes it.

use crate::ByteString;

/// A word as a shell takes it, without anything that a terminal would act on.
pub fn for_shell(word: &ByteString) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(byte);
    let visible = |byte: &u8| (b' '..=b'~').contains(byte);
    let bytes = word.as_bytes();
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    if bytes.iter().all(visible) {
        return format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "'\\''"));
    }
    let escaped = bytes.iter().map(|byte| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        byte if visible(byte) => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    });
    format!("$'{}'", escaped.collect::<String>())
}
