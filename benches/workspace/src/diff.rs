//! The diff of many files of a hundred lines with one changed in each, beside reading both versions of all of them. The
//! files are in the page cache for both.

use std::error::Error;
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use workspace::{Marking, Style, Workspace, mark_run, write_diff};

use crate::{Options, median};

/// Measures, and prints what came of it.
pub(crate) fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let (host, area) = (place.path().join("host"), place.path().join("area"));
    let upper = area.join("upper");
    fs::create_dir_all(&area)?;
    let text: String = (0..100).map(|line| format!("a line of some length {line}\n")).collect();
    fill(&host, options.files, &text)?;
    fill(&upper, options.files, &text.replace("length 50\n", "length fifty\n"))?;
    // Both layers are older than the run, so that nothing is a conflict.
    std::thread::sleep(Duration::from_millis(20));
    mark_run(open(&area)?.as_fd())?;
    let (mut reads, mut diffs) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..options.rounds {
        let began = Instant::now();
        bytes = read(&host, options.files)? + read(&upper, options.files)?;
        reads.push(began.elapsed());
        let began = Instant::now();
        let workspace = Workspace::new(open(&host)?, open(&area)?, Marking::User);
        let changes = workspace.changes()?;
        assert_eq!(changes.list.len(), options.files, "every file was changed");
        write_diff(&workspace, &changes, Style::Plain, &mut std::io::sink())?;
        diffs.push(began.elapsed());
    }
    let (read, diff) = (median(&mut reads), median(&mut diffs));
    println!(
        "{} files, {} MB in both versions, median of {}",
        options.files,
        bytes / 1_000_000,
        options.rounds
    );
    println!("read them              {:6.3} s", read.as_secs_f64());
    println!("find and diff changes  {:6.3} s", diff.as_secs_f64());
    println!("over reading them      {:6.3} s", diff.saturating_sub(read).as_secs_f64());
    Ok(())
}

/// A hundred files to a directory.
fn fill(root: &Path, files: usize, text: &str) -> std::io::Result<()> {
    for number in 0..files {
        let path = root.join(name(number));
        if number % 100 == 0
            && let Some(directory) = path.parent()
        {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

fn read(root: &Path, files: usize) -> std::io::Result<usize> {
    (0..files).map(|number| fs::read(root.join(name(number))).map(|bytes| bytes.len())).sum()
}

fn name(number: usize) -> String {
    format!("d{}/f{number}", number / 100)
}

fn open(path: &Path) -> std::io::Result<OwnedFd> {
    Ok(fs::File::open(path)?.into())
}
