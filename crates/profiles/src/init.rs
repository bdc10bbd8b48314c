//! The text that `stockade init` writes: a project's own policy, for what is found in it. It can name
//! nothing outside the project, so tool chains of a home are left to profiles. Never writes a file.

use crate::clients;
use crate::draft::{Draft, Table, Word};
use crate::host::Host;
use crate::project::{self, Found};

/// A project's policy.
pub fn project_policy(host: &Host) -> String {
    let found = project::look(host);
    let mut draft = Draft::new(Table::Cage, "default", &[]);
    let why = "The project; what runs code on the host without being asked stays read-only";
    draft.project(host, why, Word::Write);
    for secret in &found.secrets {
        if let Ok(path) = host.project.join(secret) {
            draft.path(host, "What looks like a secret by its name", Word::Hide, &path);
        }
    }
    for (language, _) in &found.languages {
        clients::add_registries(&mut draft, host, *language);
    }
    for name in VARIABLES {
        draft.name(HOW_TO_PRINT, name);
    }
    if found.more {
        draft.left_out("the project has more files than were looked at for secrets");
    }
    let about = about(&found, draft.reaches_any());
    let about: Vec<&str> = about.iter().map(String::as_str).collect();
    draft.renamed(Table::Cage, "default", &about).text()
}

fn about(found: &Found, asks: bool) -> Vec<String> {
    let mut lines = vec![
        "What programs may see, reach and use that `stockade run` starts in this project."
            .to_owned(),
        "`stockade check` shows the cage, `stockade why PATH` explains it.".to_owned(),
    ];
    let mut seen: Vec<String> = found
        .languages
        .iter()
        .map(|(language, file)| format!("{} ({})", language.name(), policy::shown::shown(file)))
        .collect();
    if found.git {
        seen.push("Git".to_owned());
    }
    if !seen.is_empty() {
        lines.push(format!("Found: {}.", seen.join(", ")));
    }
    lines.push(String::new());
    lines.push(
        "Nothing outside the project can be named here. Tool chains of a home are shown by"
            .to_owned(),
    );
    lines.push("`stockade run -p code`, in which what this file hides stays hidden.".to_owned());
    if asks {
        lines.push("The hosts below are more than a project gets by itself: `stockade allow` approves them.".to_owned());
    }
    lines.push(String::new());
    lines
}

const HOW_TO_PRINT: &str = "How to print, and nothing about who prints";

/// Those that every project gets without approval.
const VARIABLES: &[&str] = &["CI", "COLORTERM", "LANG", "NO_COLOR", "TERM", "TZ"];
