//! Choosing what to apply one change after the other, a text hunk by hunk, as `git add -p` asks. What was chosen is
//! tied to the files as they were shown.

use std::io::Write as _;

use policy::shown::shortened;
use review::{Change, Changes, FileHunks, Kind, Place, Style, TreePath, What};

use crate::failure::Failure;
use crate::review::failed;
use terminal::prompt;

/// What the person wants.
#[derive(Default)]
pub(super) struct Chosen {
    /// Changes as they are.
    pub(super) whole: Vec<TreePath>,
    /// Some hunks of texts.
    pub(super) hunks: Vec<FileHunks>,
}

impl Chosen {
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.hunks.is_empty()
    }
}

/// Whether to ask further.
enum Then {
    GoOn,
    Stop,
}

/// Asks about each change.
pub(super) fn choose(place: &Place, changes: &Changes, style: Style) -> Result<Chosen, Failure> {
    let asked = asked_about(changes);
    let mut chosen = Chosen::default();
    for (number, change) in asked.iter().enumerate() {
        let hunks = FileHunks::of(place.workspace(), change);
        let hunks = hunks.map_err(|error| failed(error.into()))?;
        let position = format!("{}/{}", number + 1, asked.len());
        let then = match hunks.filter(|hunks| !hunks.hunks.is_empty()) {
            Some(hunks) => by_hunks(change, hunks, style, &position, &mut chosen)?,
            None => as_a_whole(place, change, style, &position, &mut chosen)?,
        };
        if matches!(then, Then::Stop) {
            break;
        }
    }
    Ok(chosen)
}

/// Shows one change.
pub(super) fn show(place: &Place, change: &Change) -> Result<(), Failure> {
    print(|output| review::write_change(place.workspace(), change, Style::Terminal, output))
}

/// Not those that go with another one: a directory is made for what is in it, and what is in one that goes, goes with
/// it.
fn asked_about(changes: &Changes) -> Vec<&Change> {
    let mut asked: Vec<&Change> = Vec::new();
    let mut gone: Option<&TreePath> = None;
    let list = &changes.list;
    for (index, change) in list.iter().enumerate() {
        if gone.is_some_and(|gone| change.path.is_within(gone)) {
            continue;
        }
        let is_directory = |object: Option<_>| {
            object.is_some_and(|object: review::ObjectInfo| object.kind == Kind::Directory)
        };
        if is_directory(change.before) && !is_directory(change.after) {
            gone = Some(&change.path);
        }
        let next = list.get(index + 1);
        let has_content = next.is_some_and(|next| next.path.is_within(&change.path));
        let is_made = matches!(change.what, What::Added) && is_directory(change.after);
        if !(is_made && has_content) {
            asked.push(change);
        }
    }
    asked
}

fn by_hunks(
    change: &Change,
    mut file: FileHunks,
    style: Style,
    position: &str,
    chosen: &mut Chosen,
) -> Result<Then, Failure> {
    prompt::say(&format!("file {position}: {}\n{}", shortened(&change.path), remarks(change)));
    let all = std::mem::take(&mut file.hunks);
    let count = all.len();
    let mut rest = None;
    let mut then = Then::GoOn;
    for (number, hunk) in all.into_iter().enumerate() {
        let takes = match rest {
            Some(takes) => takes,
            None => {
                print(|output| review::write_hunk(&hunk, style, output))?;
                let question = format!("({}/{count}) apply this hunk? [y,n,a,d,q,?] ", number + 1);
                match answer(&question, HUNK_HELP, &["y", "n", "a", "d", "q"]).as_str() {
                    "y" => true,
                    "n" => false,
                    "a" => *rest.insert(true),
                    "d" => *rest.insert(false),
                    _ => {
                        then = Then::Stop;
                        *rest.insert(false)
                    }
                }
            }
        };
        if takes {
            file.hunks.push(hunk);
        }
    }
    match file.hunks.len() {
        0 => {}
        // With its permissions and date.
        all if all == count => chosen.whole.push(change.path.clone()),
        _ => chosen.hunks.push(file),
    }
    Ok(then)
}

fn as_a_whole(
    place: &Place,
    change: &Change,
    style: Style,
    position: &str,
    chosen: &mut Chosen,
) -> Result<Then, Failure> {
    let path = shortened(&change.path);
    prompt::say(&format!("file {position}: {path}\n{}", remarks(change)));
    print(|output| review::write_change(place.workspace(), change, style, output))?;
    let what = match &change.what {
        What::Added => "add it",
        What::Deleted => "delete it",
        What::Renamed { .. } => "rename it",
        What::AttributesChanged => "change its permissions",
        What::Modified | What::TypeChanged => "replace it",
    };
    let question = format!("{what}? [y,n,q,?] ");
    match answer(&question, WHOLE_HELP, &["y", "n", "q"]).as_str() {
        "y" => chosen.whole.push(change.path.clone()),
        "n" => {}
        _ => return Ok(Then::Stop),
    }
    Ok(Then::GoOn)
}

/// What is worth knowing about a change before it is chosen.
fn remarks(change: &Change) -> String {
    let mut text = String::new();
    if let Some(conflict) = change.conflict {
        text.push_str(&format!("  {conflict}: what the host has now would be replaced\n"));
    }
    if let Some(entry) = change.protected {
        text.push_str(&format!("  it runs code on the host: {}\n", entry.runs_by));
    }
    if change.leads_out {
        text.push_str("  it is a link that leads out of the workspace\n");
    }
    text
}

/// One of the known answers; the last one, which stops, at the end of input.
fn answer(question: &str, help: &str, known: &[&str]) -> String {
    loop {
        let Some(answer) = prompt::ask(question) else {
            prompt::say("\n");
            return known.last().copied().unwrap_or_default().to_owned();
        };
        let first: String = answer.chars().take(1).collect();
        if known.contains(&first.as_str()) {
            return first;
        }
        prompt::say(help);
    }
}

/// Writes to standard output, which a reader can have closed.
fn print(
    write: impl FnOnce(&mut dyn std::io::Write) -> Result<(), review::WorkspaceError>,
) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match write(&mut stdout) {
        Ok(()) | Err(review::WorkspaceError::Output(_)) => {}
        Err(error) => return Err(failed(error.into())),
    }
    let _ = stdout.flush();
    Ok(())
}

const HUNK_HELP: &str = "\
y: apply this hunk          n: leave it
a: and all later ones here  d: leave it and all later ones here
q: leave all that is left
";

const WHOLE_HELP: &str = "\
y: do it  n: leave it  q: leave all that is left
";
