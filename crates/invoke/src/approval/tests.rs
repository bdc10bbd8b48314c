//! Who answers, and what becomes of the answer.

use std::cell::RefCell;
use std::path::Path;

use serde_json::json;

use super::*;

struct World {
    _directory: tempfile::TempDir,
    executor: Executor,
    state: HostPath,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        std::fs::write(root.join("run.py"), "print('{}')").unwrap();
        let manifest = json!({
            "name": "runner", "version": "1", "code": "run.py", "capabilities": ["code:exec"],
        });
        let executor = Executor::from_value(&manifest, &root).unwrap();
        let state = HostPath::new(root.join("state").into_os_string()).unwrap();
        Self { _directory: directory, executor, state }
    }

    fn settle(&self, ask: Ask, approver: &dyn Approver) -> Result<(), Failure> {
        let asked = Asked { capability: "code:exec".to_owned(), target: None, ask };
        let arguments = Map::from_iter([("a".to_owned(), json!(1))]);
        let asking = Asking {
            executor: &self.executor,
            command: &self.executor.command(),
            arguments: Some(&arguments),
            approver,
            state: Some(&self.state),
        };
        asking.settle(&[asked])
    }

    fn record(&self) -> String {
        let Ok(log) = std::fs::read_dir(self.state.as_path().join("audit")) else {
            return String::new();
        };
        log.flatten().filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
    }
}

#[test]
fn nobody_says_no_and_that_is_on_record() {
    let world = World::new();
    let refused = world.settle(Ask::Storable, &Nobody).unwrap_err();
    assert!(matches!(&refused, Failure::Refused { code, .. } if code == "not_approved"));
    assert!(world.record().contains("grant.refused"));
}

#[test]
fn a_callback_is_told_what_will_run() {
    let world = World::new();
    let asked = RefCell::new(Vec::new());
    let callback = Callback(|question: &Question| {
        asked.borrow_mut().push(question.clone());
        Answer::Once
    });
    world.settle(Ask::Always, &callback).unwrap();
    world.settle(Ask::Always, &callback).unwrap();
    let asked = asked.into_inner();
    assert_eq!(asked.len(), 2);
    let question = asked.first().unwrap();
    assert!(question.always && question.command.contains("run.py"), "{question:?}");
    assert_eq!(question.arguments.as_deref(), Some("{\"a\":1}"));
    assert_eq!(world.record().matches("\"answer\":\"once\"").count(), 2);
}

/// What is stored answers for the same code, and never for what is asked always.
#[test]
fn a_stored_answer_holds_for_this_code_alone() {
    let world = World::new();
    let always = Callback(|_: &Question| Answer::Always { until: None });
    world.settle(Ask::Always, &always).unwrap();
    world.settle(Ask::Always, &Nobody).unwrap_err();
    world.settle(Ask::Storable, &Nobody).unwrap_err();
    world.settle(Ask::Storable, &always).unwrap();
    world.settle(Ask::Storable, &Nobody).unwrap();
    world.settle(Ask::Always, &Nobody).unwrap_err();
    assert!(world.record().contains("\"answer\":\"stored\""));
    std::fs::write(Path::new(world.executor.code.as_path()), "print('changed')").unwrap();
    world.settle(Ask::Storable, &Nobody).unwrap_err();
}

/// An answer that cannot be kept on record does not hold.
#[test]
fn no_record_no_answer() {
    let world = World::new();
    std::fs::write(world.state.as_path(), "a file").unwrap();
    let yes = Callback(|_: &Question| Answer::Once);
    assert!(matches!(world.settle(Ask::Always, &yes), Err(Failure::Unavailable { .. })));
}
