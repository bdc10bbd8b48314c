//! A Plan and its bubblewrap command line as texts that can be committed and compared.

use plan::Plan;
use serde_json::{Value, json};
use stockade_policy::HostFacts;

/// The fields of the Plan's walls and of its start as JSON, an entry of a list in a line of its own; sources by their paths. Without the system
/// call programs: those differ between architectures and have tests of their own.
pub(crate) fn plan_text(plan: &Plan, facts: &HostFacts) -> String {
    assert_eq!(
        plan.walls.sources, facts.sources,
        "what was found on the host is not what is in the Plan"
    );
    assert!(plan.start.sources.iter().eq(facts.kept.sources()));
    let mut value = serde_json::to_value(&plan.walls).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.remove("sources");
    fields.get_mut("seccomp").unwrap().as_object_mut().unwrap().retain(|name, _| name == "profile");
    for mount in fields.get_mut("mounts").unwrap().as_array_mut().unwrap() {
        if let Some(source) = mount.get_mut("source") {
            let index = usize::try_from(source.as_u64().unwrap()).unwrap();
            *source = json!(plan.sources().nth(index).unwrap().path);
        }
    }
    let mut text = String::new();
    write_lines(&mut text, "", &value);
    write_lines(&mut text, "start", &serde_json::to_value(&plan.start).unwrap());
    text
}

fn write_lines(text: &mut String, name: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                write_lines(text, &format!("{name}{dot}{field}"), value);
            }
        }
        Value::Array(entries) if !entries.is_empty() => {
            for entry in entries {
                // The path first: whoever reads looks for that.
                let mut entry = entry.clone();
                let at = entry.as_object_mut().and_then(|entry| entry.remove("at"));
                let at = at.map_or_else(String::new, |at| format!("{at} "));
                text.push_str(&format!("{name} {at}{entry}\n"));
            }
        }
        other => text.push_str(&format!("{name} {other}\n")),
    }
}

/// One option per line with those that change it, then what is read from file descriptors.
pub(crate) fn bwrap_text(plan: &Plan) -> String {
    let command = plan::render::bwrap(plan, 10);
    let mut text = String::new();
    let mut goes_on = true;
    for argument in &command.argv {
        let argument = argument.to_string().replace('\n', "\\n");
        let is_option = argument.starts_with("--");
        let separator = if is_option && !goes_on { "\n" } else { " " };
        text.push_str(if text.is_empty() { "" } else { separator });
        text.push_str(&argument);
        if is_option {
            goes_on = ["--perms", "--size"].contains(&argument.as_str());
        } else if text == "bwrap" {
            goes_on = false;
        }
    }
    text.push('\n');
    for (descriptor, contents) in &command.data {
        if *descriptor != command.seccomp_fd {
            text.push_str(&format!("fd {descriptor}: {:?}\n", contents.to_string()));
        }
    }
    for gap in plan::render::bwrap_gaps(plan) {
        text.push_str(&format!("not done by bubblewrap: {gap}\n"));
    }
    text
}
