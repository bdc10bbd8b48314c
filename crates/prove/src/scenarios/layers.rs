//! Views with a layer above them: the host is changed through one, and what is hidden in one is read. T12

use std::fs;
use std::path::Path;

use attacks::{Access, Outcome, Refused, Rule};

use crate::scenario::{Finished, Scenario, ScenarioScene, finish};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T12",
        "write-through-layer",
        "changes a file below a layer by its name, a descriptor from before and a second name",
        |scene| {
            let view = scene.workplace()?;
            let script = "cd \"$1\"; exec 3< file; echo evil > file; echo evil > /proc/self/fd/3; \
                 ln file second && echo evil > second; chmod 777 file; mv directory moved; rm -r moved";
            in_view(scene, &view, script, &[])
        },
    ),
    Scenario::new(
        "T12",
        "plant-through-layer",
        "makes hooks, links and whiteouts below a layer",
        |scene| {
            let view = scene.workplace()?;
            let script = "cd \"$1\"; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; \
                 ln -s / link; mknod white c 0 0; rm directory/file; rmdir directory; \
                 echo evil > directory";
            in_view(scene, &view, script, &[])
        },
    ),
    Scenario::new(
        "T12",
        "read-hidden-below-layer",
        "reads a hidden file of a view by its name, a moved directory and a second name",
        |scene| {
            let view = scene.workplace()?;
            fs::create_dir_all(view.join("private"))?;
            let secret = scene.arena().project.join("hidden.txt");
            fs::copy(secret, view.join("private/file"))?;
            let script = "cd \"$1\"; cat private/file; mv private aside; cat aside/file; \
                 ln private/file second; cat second; rm -r private; cat private/file";
            let mut request = scene.script(script, &[&view]);
            request.rules.push(Rule { access: Access::Cow, path: view.clone() });
            request.rules.push(Rule { access: Access::Hide, path: view.join("private") });
            let finished = finish(scene.command(&request))?;
            Ok(no_view(&finished).unwrap_or_else(|| scene.judge(&finished)))
        },
    ),
];

/// Runs a script with a view of a directory, and looks whether the host's is as it was.
pub(super) fn in_view(
    scene: &mut ScenarioScene<'_>,
    view: &Path,
    script: &str,
    flags: &[&str],
) -> Result<Outcome, Refused> {
    fs::create_dir_all(view.join("directory"))?;
    for file in ["file", "directory/file"] {
        fs::write(view.join(file), "pristine\n")?;
    }
    let before = names(view)?;
    let mut request = scene.script(script, &[view]);
    request.rules.push(Rule { access: Access::Cow, path: view.to_owned() });
    request.flags.extend(flags.iter().map(Into::into));
    let finished = finish(scene.command(&request))?;
    if let Some(outcome) = no_view(&finished) {
        return Ok(outcome);
    }
    let is_same = |file: &str| fs::read(view.join(file)).is_ok_and(|found| found == b"pristine\n");
    if names(view)? == before && is_same("file") && is_same("directory/file") {
        return Ok(Outcome::Failed("the host's files are as they were".to_owned()));
    }
    Ok(Outcome::Succeeded("the host's files were changed".to_owned()))
}

fn names(directory: &Path) -> Result<Vec<std::ffi::OsString>, Refused> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
    let mut names: Vec<_> = names.collect::<std::io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Where the kernel makes no view, and nobody else can, no cage has one.
pub(super) fn no_view(finished: &Finished) -> Option<Outcome> {
    let refusals = ["cannot lay a layer over", "a process of ours needs `/dev/fuse`"];
    let is_refused = refusals.iter().any(|refusal| finished.stderr.contains(refusal));
    is_refused
        .then(|| Outcome::NotApplicable("this host makes no such view with a layer".to_owned()))
}
