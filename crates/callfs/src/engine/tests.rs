//! The engine, as a program sees it through the rules of the virtual file system.

use std::sync::Arc;

use model::Cancel;
use rustix::io::Errno;
use serde_json::{Map, Value, json};
use tools::protocol::Described;
use vfs::{At, Caller, Engine, FileSystem, Limits, OpenFlags};

use super::CallFs;
use crate::{Joined, RunsTools, Toolbox, Tree};

struct Echo;

impl RunsTools for Echo {
    fn run(&self, tool: &str, arguments: &Map<String, Value>, _: &Cancel) -> String {
        // The first one asked is the last one answered.
        let wait = arguments.get("wait").and_then(Value::as_u64).unwrap_or_default();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        format!("{tool} {}", arguments["text"])
    }
}

fn files() -> FileSystem {
    let tool = Described { name: "say".to_owned(), doc: "Says.".to_owned(), schema: json!({}) };
    let by: Arc<dyn RunsTools> = Arc::new(Echo);
    let toolbox: Arc<dyn Tree> = Arc::new(Toolbox::new(&[tool], &by));
    let joined = Joined::new(vec![("tool".to_owned(), toolbox)]);
    let engine: Arc<dyn Engine> = Arc::new(CallFs::new(Arc::new(joined), (1000, 1000)));
    FileSystem::new(engine, &Limits::default())
}

const BOTH: OpenFlags = OpenFlags { write: true, ..OpenFlags::READ };

/// V21: ten calls at once give ten right results, each to its own open file.
#[test]
fn ten_calls_at_once_have_ten_results() {
    let (files, caller) = (files(), Caller::of(1000, 1000));
    let open: Vec<_> = (0..10)
        .map(|number: u64| {
            let file = files.open(&caller, At::Root, b"/tool/say/run", BOTH, 0).unwrap();
            let asked = json!({ "text": number, "wait": (10 - number) * 5 }).to_string();
            assert_eq!(file.write(&caller, asked.as_bytes()), Ok(asked.len()));
            file
        })
        .collect();
    std::thread::scope(|scope| {
        for (number, file) in open.iter().enumerate() {
            scope.spawn(move || {
                let mut bytes = [0; 64];
                let count = file.read(&mut bytes).unwrap();
                assert_eq!(bytes[..count], format!("say {number}\n").into_bytes());
                assert_eq!(file.read(&mut bytes), Ok(0), "nothing comes after a result");
            });
        }
    });
}

/// V20: nothing of the tree is made, changed or removed by anybody, and others than its owner have no part of it.
#[test]
fn the_tree_is_as_it_is() {
    let (files, owner) = (files(), Caller::of(1000, 1000));
    let refused = |path: &[u8], flags: OpenFlags| {
        files.open(&owner, At::Root, path, flags, 0o644).map(drop).map_err(|error| error.errno)
    };
    let new = OpenFlags { create: true, ..BOTH };
    assert!(matches!(refused(b"/tool/new", new), Err(Errno::PERM | Errno::ACCESS)));
    assert_eq!(refused(b"/tool/other/run", BOTH), Err(Errno::NOENT));
    assert_eq!(refused(b"/tool/say/doc", BOTH), Err(Errno::ACCESS));
    assert_eq!(refused(b"/tool/say/doc", OpenFlags::READ), Ok(()));
    let other = Caller::of(1001, 1001);
    let opened = files.open(&other, At::Root, b"/tool/say/run", BOTH, 0);
    assert_eq!(opened.map(drop).map_err(|error| error.errno), Err(Errno::ACCESS));
}
