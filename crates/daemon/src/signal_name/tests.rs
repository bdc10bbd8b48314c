//! Names and numbers, and what is neither.

use super::{SignalWord, number};

#[test]
fn signals_go_by_name_and_number() {
    for word in ["TERM", "term", "SIGTERM", "15"] {
        assert_eq!(number(&SignalWord::Name(word.to_owned())).unwrap(), 15);
    }
    assert_eq!(number(&SignalWord::Number(64)).unwrap(), 64);
    for wrong in [SignalWord::Number(0), SignalWord::Number(65), SignalWord::Number(-9)] {
        assert!(number(&wrong).is_err());
    }
    assert!(number(&SignalWord::Name("SIGNAL".to_owned())).is_err());
}
