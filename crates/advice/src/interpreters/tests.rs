//! Which interpreters a command line names.

use super::interpreters;

#[test]
fn words_name_interpreters() {
    let check = |words: &[&str], expected: &[&str]| {
        let found = interpreters(words.iter().map(|word| word.as_bytes()));
        assert_eq!(found, expected, "{words:?}");
    };
    check(&["npm", "test"], &["node"]);
    check(&["sh", "-c", "python3 x.py && npx tsc; pip install y"], &["node", "python3"]);
    // A path is meant as it is written, and a file of that name is no command.
    check(&["/opt/venv/bin/python3", "node.js", "./node"], &[]);
    check(&["ls", "-la"], &[]);
}
