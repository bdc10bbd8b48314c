//! Looking up and listing without a kernel in between: what a guest in this process pays.

use std::hint::black_box;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use vfs::{At, Caller, FileSystem, Follow, Limits, Memory, Mounts, OpenFlags, Overlay, ReadOnly};

pub(crate) fn measure() -> io::Result<()> {
    let (root, limits) = (Caller::root(), Limits::default());
    let memory = || Arc::new(Memory::new(&root, 0o755, limits));
    let deep = b"/1/2/3/4/5/6/7/8/9/f";
    let lower = memory();
    let below = FileSystem::new(lower.clone(), &limits);
    below.make_directories(&root, b"/1/2/3/4/5/6/7/8/9").map_err(failed)?;
    for path in [&b"/f"[..], deep] {
        below.write_file(&root, path, b"contents").map_err(failed)?;
    }
    let overlay = Overlay::new(vec![Arc::new(ReadOnly::new(lower.clone()))], memory(), &limits);
    let engines: [(&str, Arc<dyn vfs::Engine>); 3] = [
        ("memory", lower.clone()),
        ("mounts", Mounts::new(lower)),
        ("overlay", Arc::new(overlay.map_err(failed)?)),
    ];
    println!("| in this process, ns | stat | stat, 10 levels | open, read 8 bytes, close |");
    println!("|---|---|---|---|");
    for (name, engine) in engines {
        let files = FileSystem::new(engine, &limits);
        let stat = |path: &[u8]| {
            time(|| {
                let found = files.stat(&root, At::Root, path, Follow::Yes);
                black_box(found).map_err(failed).map(|_| ())
            })
        };
        let read = time(|| {
            let mut bytes = [0; 8];
            let file = files.open(&root, At::Root, b"/f", OpenFlags::READ, 0).map_err(failed)?;
            black_box(file.read(&mut bytes)).map_err(failed).map(|_| ())
        });
        println!("| {name} | {:.0} | {:.0} | {:.0} |", stat(b"/f")?, stat(deep)?, read?);
    }
    println!();
    measure_listing()
}

/// For each name of a directory, so that both figures of a row are the same where the whole grows as the directory does.
fn measure_listing() -> io::Result<()> {
    println!("| listing in this process, ns a name | 10,000 names | 100,000 names |");
    println!("|---|---|---|");
    let engines: [(&str, Filled); 2] =
        [("memory", memory_of), ("overlay, half of it from below", overlay_of)];
    for (name, engine) in engines {
        let few = list(engine(10_000)?, 10_000)?;
        let many = list(engine(100_000)?, 100_000)?;
        println!("| {name} | {few:.0} | {many:.0} |");
    }
    println!();
    Ok(())
}

/// An engine with so many names in its root.
type Filled = fn(u32) -> io::Result<Arc<dyn vfs::Engine>>;

fn list(engine: Arc<dyn vfs::Engine>, names: u32) -> io::Result<f64> {
    let files = FileSystem::new(engine, &Limits::default());
    let mut best = f64::MAX;
    for _ in 0..TURNS {
        let begin = Instant::now();
        let found = files.list(&Caller::root(), b"/").map_err(failed)?.len();
        best = best.min(begin.elapsed().as_secs_f64());
        if u32::try_from(found) != Ok(names) {
            return Err(io::Error::other("a listing lacks names"));
        }
    }
    Ok(best * 1e9 / f64::from(names))
}

fn memory_of(names: u32) -> io::Result<Arc<dyn vfs::Engine>> {
    let memory = Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default()));
    fill(memory.clone(), 0..names)?;
    Ok(memory)
}

fn overlay_of(names: u32) -> io::Result<Arc<dyn vfs::Engine>> {
    let lower = Arc::new(ReadOnly::new(memory_of(names / 2)?));
    let overlay = Overlay::new(vec![lower], memory_of(0)?, &Limits::default()).map_err(failed)?;
    let overlay = Arc::new(overlay);
    fill(overlay.clone(), names / 2..names)?;
    Ok(overlay)
}

fn fill(engine: Arc<dyn vfs::Engine>, mut numbers: Range<u32>) -> io::Result<()> {
    let files = FileSystem::new(engine, &Limits::default());
    let write = |number| files.write_file(&Caller::root(), format!("/{number}").as_bytes(), b"");
    numbers.try_for_each(write).map_err(failed)
}

fn failed(error: vfs::Error) -> io::Error {
    error.errno.into()
}

/// Nanoseconds for one, in the best of several turns.
fn time(mut act: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..TURNS {
        let begin = Instant::now();
        for _ in 0..TIMES {
            act()?;
        }
        best = best.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES));
    }
    Ok(best)
}

const TURNS: u32 = 5;
const TIMES: u32 = 200_000;
