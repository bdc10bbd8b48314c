//! Queries as clients write them, and each way in which they can be wrong.

use super::{Query, decoded};

#[test]
fn values_are_read_by_name() {
    let query = Query::read(Some("a=1&b=x%2Fy+z&c&d=%C3%A9"), &["a", "b", "c", "d"]).unwrap();
    assert_eq!(query.number("a", 10).unwrap(), Some(1));
    assert_eq!(query.text("b"), Some("x/y z"));
    assert!(query.flag("c").unwrap());
    assert!(!query.flag("absent").unwrap());
    assert_eq!(query.text("d"), Some("é"));
    assert_eq!(Query::read(None, &[]).unwrap(), Query::default());
}

/// T52
#[test]
fn wrong_queries_are_refused_in_words() {
    let table = [
        ("ofset=1", "there is no parameter `ofset`"),
        ("offset=1&offset=2", "`offset` is given twice"),
        ("offset=%4", "a `%` is not followed by two digits"),
        ("offset=%zz", "a `%` is not followed by two digits"),
        ("offset=%ff", "the address is not UTF-8"),
    ];
    for (text, message) in table {
        let problem = Query::read(Some(text), &["offset"]).unwrap_err();
        assert_eq!(problem.message, message, "{text}");
    }
    let meant = Query::read(Some("ofset=1"), &["offset"]).unwrap_err();
    assert_eq!(meant.help, ["did you mean `offset`?"]);
    let query = Query::read(Some("n=11&m=-1&f=maybe"), &["n", "m", "f"]).unwrap();
    assert!(query.number("n", 10).is_err());
    assert!(query.number("m", 10).is_err());
    assert!(query.flag("f").is_err());
}

#[test]
fn decoding_leaves_plain_text_alone() {
    assert_eq!(decoded("plain-text_1.~").unwrap(), "plain-text_1.~");
    assert_eq!(decoded("%25%41").unwrap(), "%A");
}
