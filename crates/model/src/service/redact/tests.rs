//! Keys in streams, wherever they are split.

use proptest::prelude::*;

use super::Redactor;

proptest! {
    #[test]
    fn no_key_passes_and_all_else_does(parts in prop::collection::vec("(aba|ab|b|x|abab){0,4}", 0..6)) {
        let mut redactor = Redactor::new(b"abab");
        let mut passed = Vec::new();
        parts.iter().for_each(|part| redactor.feed(part.as_bytes(), &mut passed));
        redactor.end(&mut passed);
        prop_assert_eq!(String::from_utf8(passed).expect("text"), parts.concat().replace("abab", "********"));
    }
}
