//! What is done in a directory: files by the ten thousand, large files, and programs of every day.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The word that makes this program do the work and write down how long it took.
pub(crate) const ROLE: &str = "work";

/// Each thing that is timed.
pub(crate) const ALL: &[&str] = &[
    "create files",
    "stat them",
    "list them",
    "unlink them",
    "write 256 MiB",
    "read 256 MiB",
    "20,000 random writes of 4 KiB",
    "20,000 random reads of 4 KiB",
    "tar x, 5,000 files",
    "find",
    "git add",
    "git status",
];

/// An archive of a tree, made once.
pub(crate) struct Packed {
    _place: TempDir,
    archive: PathBuf,
}

impl Packed {
    pub(crate) fn new() -> io::Result<Self> {
        let place = tempfile::tempdir()?;
        let tree = place.path().join("tree");
        for directory in 0..100 {
            let directory = tree.join(format!("d{}/e{directory}", directory % 10));
            fs::create_dir_all(&directory)?;
            for file in 0..50 {
                fs::write(directory.join(format!("f{file}.txt")), vec![b'x'; 100 + file * 77])?;
            }
        }
        let archive = place.path().join("tree.tar");
        run(place.path(), "tar", &["-cf", "tree.tar", "tree"])?;
        Ok(Self { _place: place, archive })
    }

    pub(crate) fn archive(&self) -> &Path {
        &self.archive
    }
}

/// The same in a process of its own, which writes the microseconds of each line by line.
pub(crate) fn perform_and_tell(place: &str, files: &str, archive: &str) -> io::Result<()> {
    let files = files.parse().map_err(io::Error::other)?;
    for took in perform(Path::new(place), files, Path::new(archive))? {
        println!("{}", took.as_micros());
    }
    Ok(())
}

/// What such a process wrote.
pub(crate) fn read_told(text: &str) -> io::Result<Vec<Duration>> {
    let times = text.lines().map(|line| line.parse().map(Duration::from_micros));
    let times: Vec<Duration> = times.collect::<Result<_, _>>().map_err(io::Error::other)?;
    check(times.len() == ALL.len(), "the work in a cage")?;
    Ok(times)
}

/// How long each of [`ALL`] takes.
pub(crate) fn perform(place: &Path, files: usize, archive: &Path) -> io::Result<Vec<Duration>> {
    let many = place.join("many");
    let path = |number: usize| many.join(format!("{}/{number}", number % DIRECTORIES));
    fs::create_dir(&many)?;
    for number in 0..DIRECTORIES {
        fs::create_dir(many.join(format!("{number}")))?;
    }
    let each = |act: &dyn Fn(PathBuf) -> io::Result<()>| {
        timed(|| (0..files).try_for_each(|number| act(path(number))))
    };
    let mut took = vec![
        each(&|path| File::create_new(path).map(drop))?,
        each(&|path| fs::metadata(path).map(drop))?,
        timed(|| {
            let mut count = 0;
            for number in 0..DIRECTORIES {
                for entry in fs::read_dir(many.join(format!("{number}")))? {
                    entry?;
                    count += 1;
                }
            }
            check(count == files, "a listing lacks names")
        })?,
        each(&|path| fs::remove_file(path))?,
    ];
    took.extend(large(&place.join("large"))?);
    let archive = archive.to_string_lossy().into_owned();
    took.push(timed(|| run(place, "tar", &["-xf", &archive]))?);
    took.push(timed(|| run(place, "find", &["tree", "-type", "f", "-size", "+1k"]))?);
    let tree = place.join("tree");
    run(&tree, "git", &["init", "-q", "."])?;
    took.push(timed(|| run(&tree, "git", &["add", "."]))?);
    run(&tree, "git", &["status", "--porcelain"])?;
    took.push(timed(|| run(&tree, "git", &["status", "--porcelain"]))?);
    Ok(took)
}

fn large(path: &Path) -> io::Result<Vec<Duration>> {
    let mut bytes = vec![b'x'; 1 << 20];
    let mut options = OpenOptions::new();
    let write = timed(|| {
        let mut file = File::create(path)?;
        (0..MEGABYTES).try_for_each(|_| file.write_all(&bytes))?;
        file.sync_all()
    })?;
    let read = timed(|| {
        let mut file = File::open(path)?;
        (0..MEGABYTES).try_for_each(|_| file.read_exact(&mut bytes))
    })?;
    let file = options.read(true).write(true).open(path)?;
    let mut state = 1_u64;
    let mut offset = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % (MEGABYTES << 8)) << 12
    };
    let mut page = [b'y'; 4096];
    let random_write = timed(|| {
        (0..RANDOM).try_for_each(|_| file.write_all_at(&page, offset()))?;
        file.sync_all()
    })?;
    let random_read =
        timed(|| (0..RANDOM).try_for_each(|_| file.read_exact_at(&mut page, offset())))?;
    fs::remove_file(path)?;
    Ok(vec![write, read, random_write, random_read])
}

fn run(place: &Path, program: &str, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new(program);
    let status = command.args(arguments).current_dir(place).stdout(Stdio::null()).status()?;
    check(status.success(), program)
}

fn check(holds: bool, what: &str) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::other(format!("failed: {what}"))) }
}

fn timed(act: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let begin = Instant::now();
    act()?;
    Ok(begin.elapsed())
}

const DIRECTORIES: usize = 50;
const MEGABYTES: u64 = 256;
const RANDOM: u32 = 20_000;
