//! Tables of conditions and texts.

use serde_json::json;

use super::*;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_condition_holds_for_what_it_says() {
    let when = |test| When { argument: "x".to_owned(), test };
    let within = when(Test::In(vec![json!("a"), json!(1)]));
    let non_empty = when(Test::NonEmpty);
    let any_has = when(Test::AnyHas("url".to_owned()));
    for (value, expected) in [
        (json!("a"), [true, true, false]),
        (json!("b"), [false, true, false]),
        (json!(1), [true, true, false]),
        (json!(0), [false, true, false]),
        (json!(""), [false, false, false]),
        (json!(null), [false, false, false]),
        (json!(false), [false, false, false]),
        (json!(true), [false, true, false]),
        (json!([]), [false, false, false]),
        (json!({}), [false, false, false]),
        (json!(["url"]), [false, true, false]),
        (json!([{ "url": null }]), [false, true, false]),
        (json!([1, { "url": "" }]), [false, true, true]),
        (json!({ "url": 1 }), [false, true, false]),
    ] {
        let arguments = map(json!({ "x": value }));
        let holds = [&within, &non_empty, &any_has].map(|when| when.holds(&arguments));
        assert_eq!(holds, expected, "{value}");
    }
    for when in [within, non_empty, any_has] {
        assert!(!when.holds(&Map::new()), "one that is absent");
    }
}

#[test]
fn the_texts_of_an_argument() {
    let arguments = map(json!({ "a": "x", "b": ["y", "z"], "c": ["y", 1], "d": {}, "e": null }));
    assert_eq!(texts(&arguments, "a"), Some(vec!["x"]));
    assert_eq!(texts(&arguments, "b"), Some(vec!["y", "z"]));
    assert_eq!(texts(&arguments, "c"), None);
    assert_eq!(texts(&arguments, "d"), None);
    assert_eq!(texts(&arguments, "e"), Some(vec![]));
    assert_eq!(texts(&arguments, "f"), Some(vec![]));
}
