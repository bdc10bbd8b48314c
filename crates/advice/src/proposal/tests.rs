//! What is proposed for what was seen.

use cage::prepare::Selection;
use plan::HostPath;
use policy::{NetworkSettings, Place, Policy};
use serde_json::json;

use super::{Noted, Proposal};

fn selection() -> Selection {
    let host = |path: &str| HostPath::new(path).unwrap();
    let caller = cage::prepare::Caller::of_this_process().unwrap();
    Selection {
        policy: Policy::closed("default"),
        agent_command: Vec::new(),
        agent: None,
        surroundings: caller.surroundings(host("/home/u/src/p")),
        place: Place {
            project: host("/home/u/src/p"),
            home: Some(host("/home/u")),
            own_state: Vec::new(),
        },
        ceiling: None,
        confined: Vec::new(),
        network: NetworkSettings::default(),
    }
}

fn propose(used: &[(&str, &str)], paths: serde_json::Value) -> Proposal {
    let used: Vec<_> =
        used.iter().map(|(what, path)| json!({ "what": what, "path": path, "count": 1 })).collect();
    let network = json!({ "denials": [{ "target": "registry.example", "port": 443 }] });
    let noted = json!({ "exit_code": 0, "used": used, "paths": paths, "network": network });
    let noted: Noted = serde_json::from_value(noted).unwrap();
    Proposal::of(&noted, &selection(), &|path| path.to_string().ends_with("target"))
}

/// K294: paths are joined as far as one tool goes; neither the home nor a secret is proposed.
#[test]
fn what_was_used_is_joined() {
    let proposal = propose(
        &[
            ("read", "/home/u/src/p/Cargo.toml"),
            ("read", "/home/u/src/p/src/main.rs"),
            ("written", "/home/u/src/p/target/debug/x"),
            ("executed", "/home/u/.nvm/v20/bin/node"),
            ("read", "/home/u/.nvm/v20/lib/npm.js"),
            ("read", "/home/u/.gitconfig"),
            ("read", "/home/u/.profile"),
            ("listed", "/home/u/music"),
            ("read", "/home/u/.ssh/id_rsa"),
        ],
        json!([]),
    );
    let file = proposal.file("cargo build");
    let expected = [
        "# Written by `stockade learn` -- cargo build",
        "version = 1",
        "",
        "[cage.default]",
        "fs = [",
        "    { ro = \".\" }, # 2 paths",
        "    { rw = \"target\" }, # 1 paths",
        "]",
        "net.allow = [\"registry.example:443\"]",
    ];
    assert_eq!(file.lines().collect::<Vec<_>>(), expected);
    let flags =
        ["--ro /home/u/.gitconfig", "--ro /home/u/.nvm/v20", "--ro /home/u/.profile", "--env PATH"];
    assert_eq!(proposal.flags(), flags);
    assert_eq!(proposal.remarks().len(), 1, "{:?}", proposal.remarks());
    assert!(proposal.remarks()[0].contains("`/home/u/.ssh/id_rsa` (SSH keys)"));
}

/// K294: what would have been made in the project itself needs the project.
#[test]
fn a_new_file_needs_its_directory() {
    let unwritable = |path: &str, because: &str| {
        let problem = "unwritable";
        json!({ "problem": problem, "path": path, "because": because, "flag": null, "secret": null })
    };
    let proposal = propose(
        &[("read", "/home/u/src/p/x")],
        json!([
            unwritable("/home/u/src/p/Cargo.lock", "`ro` on `/home/u/src/p`"),
            unwritable("/home/u/src/p/.git/hooks/x", "`.git/hooks` runs code on the host, by Git"),
            unwritable("/usr/bin/x", "every cage has the system read-only"),
        ]),
    );
    assert!(proposal.file("x").contains("{ rw = \".\" }"), "{}", proposal.file("x"));
    assert!(proposal.remarks()[0].starts_with("not proposed for writing"));
    assert!(proposal.flags().is_empty());
}
