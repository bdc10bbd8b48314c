//! Prompts, built in and own.

use super::{Prompts, View};

/// V32, V38: a user's own file stands before what is built in, and every prompt has the true view.
#[test]
fn own_prompts_stand_before_built_in_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    let prompts = Prompts { own: Some(directory.path().to_owned()) };
    let built_in = prompts.text("explore").expect("a prompt");
    std::fs::write(directory.path().join("explore.md"), "mine").expect("a file");
    std::fs::write(directory.path().join("review.md"), "review").expect("a file");
    assert_eq!(prompts.text("explore").expect("a prompt"), "mine");
    assert_eq!(prompts.names(), ["default", "explore", "plan", "review", "task"]);
    let unknown = prompts.text("../explore").expect_err("no name").to_string();
    assert!(unknown.contains("default, explore, plan"), "{unknown}");
    let view = View {
        working_directory: "/p".to_owned(),
        tools: Prompts::tools("explore"),
        hosts: vec!["example.com".to_owned()],
        ..View::default()
    };
    let prompt = view.added_to(&built_in);
    for part in ["/p", "read, list", "example.com", "instruction"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert!(!view.tools.iter().any(|tool| tool == "exec" || tool == "write"));
}
