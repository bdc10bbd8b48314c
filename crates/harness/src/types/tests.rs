//! What a type says, and which flags win.

use clap::Parser;

use super::complete;
use crate::arguments::CommonArguments;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    common: CommonArguments,
}

fn completed(words: &[&str], text: &str, has_prompt: bool) -> Result<CommonArguments, String> {
    let mut common = Line::parse_from([&["x", "--type", "mine"], words].concat()).common;
    complete(&mut common, text, has_prompt)?;
    Ok(common)
}

/// V32: a type has tools, paths, hosts, a model, budgets and children; a flag comes first.
#[test]
fn flags_come_before_a_type() {
    let text = "type = \"explore\"\nmodel = \"small\"\nsteps = 7\ntime = \"2m\"\nchildren = 2\ncode = true\nro = [\"/docs\"]\n\
                net = [\"example.com:443\"]\nprofile = \"node\"\nmcp = [\"git\"]\nservices = [\"websearch\"]\n";
    let own = completed(&[], text, false).unwrap();
    assert_eq!((own.kind.as_str(), own.model.as_deref()), ("explore", Some("small")));
    assert_eq!((own.steps, own.children, own.code), (Some(7), Some(2), true));
    assert_eq!(own.time.unwrap().as_secs(), 120);
    assert!(!own.tools.contains(&"edit".to_owned()) && own.tools.contains(&"read".to_owned()));
    assert_eq!((own.cage.profile.as_deref(), own.mcp.len()), (Some("node"), 1));
    assert_eq!(own.services, ["websearch"]);
    let flags =
        ["--steps", "3", "--model", "large", "--tools", "edit", "--cage", "c", "--ro", "/x"];
    let flagged = completed(&flags, text, true).unwrap();
    assert_eq!((flagged.kind.as_str(), flagged.model.as_deref()), ("mine", Some("large")));
    assert_eq!((flagged.steps, flagged.tools), (Some(3), vec!["edit".to_owned()]));
    assert_eq!((flagged.cage.name.as_deref(), flagged.cage.profile), (Some("c"), None));
    assert_eq!(flagged.cage.ro, [std::path::PathBuf::from("/x")]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for text in ["tool = []", "temperature = 3", "children = 9", "time = \"soon\"", "steps = -1"] {
        assert!(completed(&[], text, true).is_err(), "{text}");
    }
}
