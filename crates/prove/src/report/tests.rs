//! How trials are judged.

use super::*;

fn trial(outcome: Outcome, harm: Option<&str>, secret: Option<&str>) -> Trial {
    Trial { outcome, harm: harm.map(str::to_owned), secret: secret.map(str::to_owned) }
}

fn succeeded() -> Outcome {
    Outcome::Succeeded("it worked".to_owned())
}

fn failed() -> Outcome {
    Outcome::Failed("EPERM".to_owned())
}

/// A cage holds an attack off only if it failed and nothing shows otherwise.
#[test]
fn cages_are_judged_by_effects_first() {
    let attempted = || Outcome::Attempted("sent".to_owned());
    let cases = [
        (trial(failed(), None, None), "held"),
        (trial(attempted(), None, None), "held"),
        (trial(succeeded(), None, None), "BREACHED"),
        (trial(failed(), Some("a mark"), None), "BREACHED"),
        (trial(attempted(), Some("a mark"), None), "BREACHED"),
        (trial(failed(), None, Some("a secret")), "BREACHED"),
        (trial(Outcome::NotApplicable("no such thing".to_owned()), None, None), "not here"),
        (trial(Outcome::Broken("hung".to_owned()), None, None), "broken"),
    ];
    for (trial, expected) in cases {
        assert_eq!(judge_cage(&trial).as_cage(), expected, "{trial:?}");
    }
}

/// A twin that merely says that it worked is not enough where there must be a proof.
#[test]
fn twins_are_judged_by_their_proof() {
    let cases = [
        (Proof::OwnReport, trial(succeeded(), None, None), "works"),
        (Proof::OwnReport, trial(failed(), None, None), "broken"),
        (Proof::Secret, trial(succeeded(), None, None), "broken"),
        (Proof::Secret, trial(succeeded(), None, Some("a secret")), "works"),
        (Proof::Harm, trial(succeeded(), None, None), "broken"),
        (Proof::Harm, trial(failed(), Some("a mark"), None), "works"),
        (
            Proof::OwnReport,
            trial(Outcome::Failed("bpf: ENOSYS".to_owned()), None, None),
            "not here",
        ),
        (Proof::Harm, trial(Outcome::Broken("hung".to_owned()), None, None), "broken"),
    ];
    for (proof, trial, expected) in cases {
        assert_eq!(
            judge_twin(Twin::Plain, proof, &trial).as_twin(),
            expected,
            "{proof:?} {trial:?}"
        );
    }
}

fn row(twin: Judgement, cage: Judgement, not_defended: Option<&'static str>) -> Row {
    let cages = vec![InCage { profile: Profile::Default, judgement: cage }];
    Row { id: "T1", name: "name", summary: "summary", twin, cages, not_defended }
}

#[test]
fn one_breach_or_one_broken_attack_fails_the_whole() {
    let works = || Judgement::WentThrough(String::new());
    let held = || Judgement::Held(String::new());
    let broken = || Judgement::Broken(String::new());
    let cases = [
        (row(works(), held(), None), true),
        (row(works(), works(), None), false),
        (row(works(), works(), Some("known")), true),
        (row(broken(), held(), None), false),
        (row(works(), broken(), Some("known")), false),
        (row(Judgement::NotHere(String::new()), held(), None), true),
    ];
    for (row, expected) in cases {
        let report = Report { rows: vec![row.clone()], unexplained: Vec::new() };
        assert_eq!(report.all_held(), expected, "{row:?}");
    }
    let report = Report { rows: Vec::new(), unexplained: vec!["something".to_owned()] };
    assert!(!report.all_held());
}

#[test]
fn the_table_marks_what_failed() {
    let breach = row(
        Judgement::WentThrough("proof".to_owned()),
        Judgement::WentThrough("a mark".to_owned()),
        None,
    );
    let report = Report { rows: vec![breach], unexplained: Vec::new() };
    let text = report.to_string();
    assert!(text.contains("BREACHED  <<"), "{text}");
    assert!(text.contains("default: BREACHED (a mark)"), "{text}");
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(json["held"], false);
    assert_eq!(json["rows"][0]["cages"][0]["profile"], "default");
    assert_eq!(json["rows"][0]["cages"][0]["judgement"], "went_through");
}
