use super::*;

#[test]
fn the_words_of_a_level_are_read() {
    for (word, level) in [
        ("read_only", Autonomy::ReadOnly),
        ("readonly", Autonomy::ReadOnly),
        ("ReadOnly", Autonomy::ReadOnly),
        ("supervised", Autonomy::Supervised),
        ("full", Autonomy::Full),
    ] {
        assert_eq!(word.parse(), Ok(level), "{word}");
    }
    for word in ["", "FULL", "root", "read-only ", "none"] {
        assert_eq!(word.parse::<Autonomy>(), Err(UnknownAutonomy), "{word}");
    }
}
