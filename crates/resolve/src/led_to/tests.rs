//! What is found of a project.

use std::fs;
use std::os::unix::fs::symlink;

use plan::HostPath;

use super::led_to;

/// T12, T67: configuration, links of protected names, links of hooks; nothing outside.
#[test]
fn what_configuration_and_links_lead_to_is_found() {
    let place = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(place.path()).unwrap();
    let project = real.join("project");
    for directory in [".git/hooks", "hk", "tools", "scripts", "ide", "inc"] {
        fs::create_dir_all(project.join(directory)).unwrap();
    }
    let config =
        "[core]\n\thooksPath = hk\n\tfsmonitor = ./tools/mon.sh\n[include]\n\tpath = ../inc/gitc\n";
    fs::write(project.join(".git/config"), config).unwrap();
    fs::write(project.join("tools/mon.sh"), "").unwrap();
    symlink("../../scripts/pre-commit", project.join(".git/hooks/pre-commit")).unwrap();
    symlink("ide", project.join(".vscode")).unwrap();
    fs::write(project.join("ide/tasks.json"), "{}").unwrap();
    symlink("tools/env", project.join(".envrc")).unwrap();
    symlink("/etc/passwd", project.join(".npmrc")).unwrap();
    let project = HostPath::new(project.into_os_string()).unwrap();
    let found = led_to(&project, None);
    let relative: Vec<String> = found
        .iter()
        .map(|path| path.as_path().strip_prefix(project.as_path()).unwrap().display().to_string())
        .collect();
    for expected in ["hk", "inc/gitc", "scripts/pre-commit", "tools/env", "tools/mon.sh"] {
        assert!(relative.iter().any(|path| path == expected), "{expected}: {relative:?}");
    }
    assert!(relative.iter().any(|path| path.starts_with("ide")), "{relative:?}");
    assert!(found.iter().all(|path| path.is_within(&project)));
}
