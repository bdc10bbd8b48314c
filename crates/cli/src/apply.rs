//! `stockade apply`: brings what programs changed to the host. Nothing that the host changed since is overwritten, and
//! nothing that runs code by its name is applied, unless the person says so for that very path.

mod patch;

use std::collections::BTreeSet;

use policy::shown::{shortened, shown};
use review::{
    AppliedReport, Changes, HeldReport, Kind, Merging, Named, Place, Purpose, Request, Selection,
    TreePath,
};

use crate::arguments::review::ApplyArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::{Colour, Messages};
use crate::output::{print, print_json};
use crate::review::{Review, as_word, counted, failed, listed, style};
use terminal::{progress::ProgressLine, prompt};

/// The command.
pub(crate) fn apply(
    arguments: &ApplyArguments,
    colour: Colour,
    messages: Messages,
) -> Result<Exit, Failure> {
    let line = ProgressLine::new();
    let review = Review::find(&arguments.which, Purpose::Changes, messages)?.with_progress(&line);
    let overwritten = match arguments.overwrite.as_slice() {
        [] => Vec::new(),
        words => review.named_by(words)?,
    };
    let mut reports = Vec::new();
    for named in review.named()? {
        let changes = named.place.changes(&review.log).map_err(failed)?;
        let force = overwritten.iter().find(|other| std::ptr::eq(other.place, named.place));
        let wishes = Wishes {
            force: force.map(|named| named.paths.clone()).unwrap_or_default(),
            merging: if arguments.merge { Merging::WhereCertain } else { Merging::Never },
        };
        let Some(request) = request(&named, &changes, wishes, arguments, colour)? else {
            continue;
        };
        let report = if arguments.dry_run {
            let applied = named.place.preview(&changes, &request).map_err(failed)?;
            AppliedReport::new(named.place.path(), &changes, applied)
        } else {
            let done = named.place.apply(&changes, &request, &review.log).map_err(failed)?;
            if let Some(why) = &done.unrecorded {
                messages.error(&format!("what came of it is not on record: {}", with_causes(why)));
            }
            done.value
        };
        reports.push(report);
    }
    drop(line);
    tell(&review, &reports, arguments, messages)
}

/// Applies everything that can be applied without a question, but for names that run code, which are asked about one by
/// one: what `apply` does at the end of a run.
pub(crate) fn apply_all(review: &Review, messages: Messages) -> Result<Exit, Failure> {
    let mut reports = Vec::new();
    for place in &review.places {
        let changes = place.changes(&review.log).map_err(failed)?;
        let mut request = Request::of(Selection::All);
        confirm(place, &changes, &mut request)?;
        let done = place.apply(&changes, &request, &review.log).map_err(failed)?;
        if let Some(why) = &done.unrecorded {
            messages.error(&format!("what came of it is not on record: {}", with_causes(why)));
        }
        reports.push(done.value);
    }
    told(review, &reports, "applied", messages)
}

/// What is done about conflicts.
struct Wishes {
    force: Vec<TreePath>,
    merging: Merging,
}

/// What is applied of one workspace; none if the person wants nothing of it.
fn request(
    named: &Named<'_>,
    changes: &Changes,
    wishes: Wishes,
    arguments: &ApplyArguments,
    colour: Colour,
) -> Result<Option<Request>, Failure> {
    let Wishes { force, merging } = wishes;
    let selection = match named.paths.as_slice() {
        [] => Selection::All,
        paths => Selection::Paths(paths.to_vec()),
    };
    // Whoever names a path means it.
    let confirmed: BTreeSet<TreePath> = named.paths.iter().chain(&force).cloned().collect();
    let mut request = Request { selection, force, merging, confirmed };
    if arguments.patch {
        let chosen = patch::choose(named.place, &changes.named_by(&named.paths), style(colour))?;
        if chosen.is_empty() {
            return Ok(None);
        }
        let patch::Chosen { whole, hunks } = chosen;
        // Each was looked at.
        request.confirmed.extend(whole.iter().cloned());
        request.force.extend(whole.iter().cloned());
        request.selection = Selection::Parts { whole, hunks };
    } else if !arguments.dry_run && !arguments.json && prompt::somebody_is_there() {
        confirm(named.place, changes, &mut request)?;
    }
    Ok(Some(request))
}

/// Asks about each name that runs code.
fn confirm(place: &Place, changes: &Changes, request: &mut Request) -> Result<(), Failure> {
    if !prompt::somebody_is_there() {
        return Ok(());
    }
    let preview = place.preview(changes, request).map_err(failed)?;
    for path in &preview.held {
        let Some(change) = changes.list.iter().find(|change| change.path == *path) else {
            continue;
        };
        // A directory is made for what is in it.
        if change.after.is_some_and(|after| after.kind == Kind::Directory) {
            continue;
        }
        let runs_by = change.protected.map_or("", |entry| entry.runs_by);
        let question =
            format!("`{}` runs code on the host ({runs_by}): apply it?", shortened(path));
        loop {
            match prompt::ask(&format!("{question} [y,n,v,q] ")).as_deref() {
                Some("y" | "yes") => {
                    request.confirmed.insert(path.clone());
                }
                Some("v" | "view") => {
                    patch::show(place, change)?;
                    continue;
                }
                Some("q" | "quit") | None => return Ok(()),
                Some("n" | "no") => {}
                Some(_) => {
                    prompt::say("y: apply it  n: leave it  v: look at it  q: leave all of these\n");
                    continue;
                }
            }
            break;
        }
    }
    Ok(())
}

/// Tells what was done, or would be, and ends as that deserves.
fn tell(
    review: &Review,
    reports: &[AppliedReport],
    arguments: &ApplyArguments,
    messages: Messages,
) -> Result<Exit, Failure> {
    if arguments.json {
        let value = serde_json::json!({
            "session": review.session.as_str(),
            "dry_run": arguments.dry_run,
            "workspaces": reports,
        });
        print_json(&value)?;
        return Ok(exit(reports));
    }
    let verb = if arguments.dry_run { "would be applied" } else { "applied" };
    told(review, reports, verb, messages)
}

fn told(
    review: &Review,
    reports: &[AppliedReport],
    verb: &str,
    messages: Messages,
) -> Result<Exit, Failure> {
    if !reports.iter().any(|report| report.has_done_something() || report.has_left_something()) {
        messages.note(&format!("session `{}` has nothing to apply", review.session));
        return Ok(Exit::No);
    }
    for report in reports {
        let done = report.applied.len() + report.merged.len();
        if done > 0 {
            let paths = counted(done, "path");
            print(&format!("{verb}: {paths} of `{}`\n", shown(&report.path)))?;
        }
        if !report.merged.is_empty() {
            print(&format!("  both sides merged in {}\n", listed(report.merged.iter())))?;
        }
    }
    for report in reports {
        tell_conflicts(review, report, messages);
        tell_held(review, report, messages);
        if verb == "applied" {
            tell_stale_index(report, messages);
            tell_committed(report, messages);
        }
    }
    if verb == "applied" && reports.iter().any(AppliedReport::has_done_something) {
        messages.note(&format!("{} takes it back", review.command("undo", "")));
    }
    Ok(exit(reports))
}

/// Something that was asked for and left is an answer of no.
fn exit(reports: &[AppliedReport]) -> Exit {
    let is_whole = !reports.iter().any(AppliedReport::has_left_something);
    if is_whole && reports.iter().any(AppliedReport::has_done_something) {
        Exit::Success
    } else {
        Exit::No
    }
}

fn tell_conflicts(review: &Review, report: &AppliedReport, messages: Messages) {
    let Some(first) = report.conflicts.first() else { return };
    let count = report.conflicts.len();
    let paths = counted(count, "path");
    let mut text = format!("left as it is on the host, because it was changed there: {paths}");
    for conflict in report.conflicts.iter().take(MOST_LISTED) {
        let can = if conflict.mergeable { "; can be merged" } else { "" };
        text.push_str(&format!("\n{}: {}{can}", shortened(&conflict.path), conflict.why));
    }
    if count > MOST_LISTED {
        text.push_str(&format!("\nand {} more", count - MOST_LISTED));
    }
    messages.warning(&text);
    let word = as_word(&first.path);
    messages.help(&format!("{} shows both", review.command("diff", &format!("-- {word}"))));
    if report.conflicts.iter().any(|conflict| conflict.mergeable) {
        messages.help(&format!("{} merges what can be", review.command("apply", "--merge")));
    }
    messages.help(&format!(
        "{} takes the version of the cage, {} that of the host",
        review.command("apply", &format!("--overwrite {word}")),
        review.command("discard", &format!("-- {word}"))
    ));
}

/// `git status` on the host writes the index anew, whoever asks for it.
fn tell_stale_index(report: &AppliedReport, messages: Messages) {
    if report.has_stale_index() {
        messages.warning(&format!(
            "`{}` has new commits, and Git's index is still of before them: a commit now would take them back",
            shown(&report.path)
        ));
        messages.help("`git reset` has the index follow, and leaves every file as it is");
    }
}

/// A checkout puts what commits hold into its place, and nobody is asked then.
fn tell_committed(report: &AppliedReport, messages: Messages) {
    if !report.commits_read {
        messages.warning(
            "not all of the commits that were applied could be searched for what runs code",
        );
    }
    let Some(first) = report.committed.first() else { return };
    let files = counted(report.committed.len(), "file");
    let mut text = format!("commits that were applied hold what runs code on the host: {files}");
    for one in report.committed.iter().take(MOST_LISTED) {
        text.push_str(&format!("\n{} in {}: {}", shortened(&one.path), one.commit, one.runs_by));
    }
    if report.committed.len() > MOST_LISTED {
        text.push_str(&format!("\nand {} more", report.committed.len() - MOST_LISTED));
    }
    messages.warning(&text);
    let word = as_word(&first.path);
    messages.help(&format!(
        "`git show {}:{word}` shows one; a checkout or a merge puts it in its place",
        first.commit
    ));
}

fn tell_held(review: &Review, report: &AppliedReport, messages: Messages) {
    // A directory is told by what is in it, which follows it.
    let following = report.held.iter().skip(1).map(Some).chain([None]);
    let pairs = report.held.iter().zip(following);
    let is_above = |path: &TreePath, next: Option<&HeldReport>| {
        next.is_some_and(|next| next.path.is_within(path))
    };
    let held: Vec<_> =
        pairs.filter(|(held, next)| !is_above(&held.path, *next)).map(|(held, _)| held).collect();
    let Some(first) = held.first() else { return };
    let count = held.len();
    let paths = counted(count, "path");
    let mut text = format!("not applied, because it runs code on the host by its name: {paths}");
    for held in held.iter().take(MOST_LISTED) {
        text.push_str(&format!("\n{}: {}", shortened(&held.path), held.runs_by));
    }
    if count > MOST_LISTED {
        text.push_str(&format!("\nand {} more", count - MOST_LISTED));
    }
    messages.warning(&text);
    let word = as_word(&first.path);
    messages.help(&format!(
        "look at each and name those that you want: {}",
        review.command("apply", &format!("-- {word}"))
    ));
}

/// How many paths are told one by one.
const MOST_LISTED: usize = 20;
