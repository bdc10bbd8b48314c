//! Combinations of tools and policies, by table.

use policy::{Commands, FsAccess, FsRule, Place, Policy, Reach, RuleOrigin};

use super::{Warning, warnings};
use crate::granted;

fn found(policy: &Policy, tools: &[&str]) -> Vec<Warning> {
    let home = plan::HostPath::new("/home/u").expect("a path");
    let place =
        Place { project: home.join("p").expect("a path"), home: Some(home), own_state: Vec::new() };
    let names: Vec<String> = tools.iter().map(|name| (*name).to_owned()).collect();
    warnings(policy, &place, &granted(&names).expect("tools"))
}

fn rule(access: FsAccess, path: &str) -> FsRule {
    let path = plan::HostPath::new(path).expect("a path");
    FsRule { access, path, reach: Reach::Anywhere, origin: RuleOrigin::BuiltIn("a test") }
}

#[test]
fn useless_and_dangerous_combinations_are_said() {
    let mut policy = Policy::closed("t");
    policy.commands = Commands::None;
    let useless = |policy: &Policy, tools: &[&str]| {
        found(policy, tools).iter().filter(|warning| matches!(warning, Warning::Useless(_))).count()
    };
    assert_eq!(useless(&policy, &["edit", "read", "exec"]), 3);
    assert_eq!(useless(&policy, &["todo"]), 0);
    policy.commands = Commands::Base;
    policy.fs.push(rule(FsAccess::Cow, "/home/u/p"));
    assert_eq!(found(&policy, &["edit", "read", "exec"]), []);
    let allow = |policy: &mut Policy, text: &str| {
        policy
            .net
            .allow
            .insert(text.parse().expect("a destination"), RuleOrigin::BuiltIn("a test"));
    };
    policy.fs.push(rule(FsAccess::ReadOnly, "/home/u/.ssh"));
    allow(&mut policy, "example.com");
    assert_eq!(found(&policy, &["exec"]), []);
    assert_eq!(useless(&policy, &["read"]), 1);
    allow(&mut policy, "**.example.org");
    let warnings = found(&policy, &["exec"]);
    assert!(
        matches!(&*warnings, [Warning::Dangerous(text)] if text.contains(".ssh") && text.contains("example.org")),
        "{warnings:?}"
    );
}
