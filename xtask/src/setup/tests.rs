//! What is told and what is installed of things that a machine lacks.

use std::collections::BTreeSet;
use std::path::Path;

use super::{NEEDS, Need, What, packages, program, told};

#[test]
fn what_is_missing_is_told_with_the_command_that_installs_it() {
    assert_eq!(told(&[]), None);
    let server = Need { what: What::Server("sshd"), package: "openssh-server" };
    let module = Need { what: What::Module("requests"), package: "python3-requests" };
    let (one, other) = (program("ssh", "openssh-client"), program("ssh-keygen", "openssh-client"));
    let text = told(&[&one, &other, &server, &module]).unwrap();
    assert!(
        text.starts_with("not installed: ssh, ssh-keygen, sshd, Python's requests\n"),
        "{text}"
    );
    let command =
        "apt-get install --no-install-recommends openssh-client openssh-server python3-requests";
    assert!(text.ends_with(command), "{text}");
}

#[test]
fn a_server_is_installed_only_where_everything_is_required() {
    let (server, other) =
        (Need { what: What::Server("sshd"), package: "openssh-server" }, program("git", "git"));
    assert_eq!(packages(&[&server, &other], false), ["git"]);
    assert_eq!(packages(&[&server, &other], true), ["git", "openssh-server"]);
}

/// Whatever a test may lack is something that set-up knows to install.
#[test]
fn every_program_that_a_test_asks_for_is_known() {
    let known: BTreeSet<String> = NEEDS.iter().map(|need| need.name()).collect();
    let mut asked = BTreeSet::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    collect(&crates, &mut asked);
    // The linker, which is there where anything was built.
    asked.remove("cc");
    assert!(asked.len() > 20, "{asked:?}");
    let unknown: Vec<_> = asked.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn collect(directory: &Path, asked: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, asked);
        } else if path.ends_with("tests.rs")
            || path.components().any(|part| part.as_os_str() == "tests")
        {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            asked.extend(words_after(&text, "has(\"", ""));
            asked.extend(words_after(&text, "has_python_module(\"", "Python's "));
            for rest in text.split("has_all(&[").skip(1) {
                let list = rest.split(']').next().unwrap();
                asked.extend(list.split('"').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }
}

fn words_after(text: &str, call: &str, prefix: &str) -> Vec<String> {
    // What is asked of a value is no question about the machine.
    let calls = text.match_indices(call).filter(|(at, _)| !text[..*at].ends_with('.'));
    let words = calls.filter_map(|(at, call)| text[at + call.len()..].split('"').next());
    words.map(|word| format!("{prefix}{word}")).collect()
}
