//! What a table of walls says, and how a proof is read.

use ::walls::Wall;

use super::chosen;
use super::prove::{Proof, broken};
use super::table::{Row, summary};

#[test]
fn walls_are_chosen_by_name() {
    assert_eq!(chosen(&[]).unwrap(), Wall::ALL);
    assert_eq!(chosen(&["calls", "callfilter"]).unwrap_err().to_string().split(';').next(), {
        Some("there is no wall `calls`")
    });
    assert_eq!(chosen(&["callfilter"]).unwrap(), [Wall::CallFilter]);
}

#[test]
fn a_wall_that_nobody_notices_stands_out() {
    let row = |noticed: bool, proof| {
        let wall = Wall::CallFilter;
        let noticed_by = wall.tests().iter().copied().take(usize::from(noticed)).collect();
        Row { wall, tried: wall.tests().len(), noticed_by, proof }
    };
    let rows = [
        row(true, Proof::Held),
        row(false, Proof::Broken(vec!["read-keys".to_owned()])),
        row(true, Proof::NoCage),
        row(true, Proof::TooLong),
    ];
    assert_eq!(summary(&rows), "4 walls: 3 noticed by tests, 2 by prove");
    let late = [row(true, Proof::NoTime)];
    assert_eq!(summary(&late), "1 walls: 1 noticed by tests, 0 by prove (1 not asked)");
    let text: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert!(!text[0].contains("NOT NOTICED") && text[0].contains("prove: does not notice"));
    assert!(text[1].contains("NOT NOTICED") && text[1].contains("prove: read-keys"));
    assert!(text[2].contains("no cage starts"));
}

#[test]
fn a_proof_names_the_attacks_that_were_not_held() {
    let report = r#"{ "held": false, "unexplained": ["a file is gone"], "rows": [
        { "name": "held", "twin": { "judgement": "went_through" }, "not_defended": null,
          "cages": [{ "profile": "default", "judgement": "held" }] },
        { "name": "through", "twin": { "judgement": "went_through" }, "not_defended": null,
          "cages": [{ "profile": "default", "judgement": "went_through" }] },
        { "name": "known", "twin": { "judgement": "went_through" }, "not_defended": "why",
          "cages": [{ "profile": "default", "judgement": "went_through" }] },
        { "name": "hung", "twin": { "judgement": "went_through" }, "not_defended": null,
          "cages": [{ "profile": "default", "judgement": "broken" }] } ] }"#;
    let expected = ["through", "hung", "a file is gone"].map(str::to_owned);
    assert_eq!(broken(report), Proof::Broken(expected.to_vec()));
    assert_eq!(broken("{ \"error\": { \"code\": \"cannot_build\" } }"), Proof::NoCage);
    assert_eq!(broken(""), Proof::NoCage);
}
