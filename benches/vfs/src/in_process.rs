//! Looking up without a kernel in between: what a guest in this process pays.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use vfs::{At, Caller, FileSystem, Follow, Limits, Memory, Mounts, OpenFlags, Overlay, ReadOnly};

pub(crate) fn measure() -> io::Result<()> {
    let (root, limits) = (Caller::root(), Limits::default());
    let memory = || Arc::new(Memory::new(&root, 0o755, limits));
    let failed = |error: vfs::Error| io::Error::from(error.errno);
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
    Ok(())
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
