//! Who answers, and what becomes of the answer.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

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
        self.settle_changed(ask, approver, |_| {})
    }

    /// The same where something about the call is otherwise.
    fn settle_changed(
        &self,
        ask: Ask,
        approver: &dyn Approver,
        change: impl FnOnce(&mut Asking<'_>),
    ) -> Result<(), Failure> {
        let asked = Asked { capability: "code:exec".to_owned(), target: None, ask };
        let arguments = Map::from_iter([("a".to_owned(), json!(1))]);
        let files = crate::files::as_they_are(&self.executor.code, &[]).unwrap();
        let command = self.executor.command();
        let mut asking = Asking {
            executor: &self.executor,
            command: &command,
            arguments: Some(&arguments),
            files: &files,
            around: Level::Native,
            extra_ro: &[],
            extra_rw: &[],
            approver,
            state: Some(&self.state),
        };
        change(&mut asking);
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
    assert_eq!(question.arguments.as_ref().map(|all| json!(all)), Some(json!({"a": 1})));
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

/// An answer whose time is over approves nothing and is not stored.
#[test]
fn an_answer_of_the_past_is_none() {
    let world = World::new();
    let past = Callback(|_: &Question| Answer::Always {
        until: Some(SystemTime::now() - Duration::from_secs(300)),
    });
    world.settle(Ask::Storable, &past).unwrap_err();
    world.settle(Ask::Always, &past).unwrap_err();
    world.settle(Ask::Storable, &Nobody).unwrap_err();
    assert_eq!(world.record().matches("grant.refused").count(), 3);
}

/// M74: an answer was given for one manifest, one command and what was around it, and is for nothing else.
#[test]
fn a_stored_answer_holds_for_this_very_call_alone() {
    let world = World::new();
    let always = Callback(|_: &Question| Answer::Always { until: None });
    world.settle(Ask::Storable, &always).unwrap();
    let other = |field: &str, value: Value| {
        let mut manifest = json!({
            "name": "runner", "version": "1", "code": "run.py", "capabilities": ["code:exec"],
        });
        manifest[field] = value;
        let directory = world.executor.code_directory.as_path();
        // A change can put into any call what lives for good.
        &*Box::leak(Box::new(Executor::from_value(&manifest, directory).unwrap()))
    };
    let same = other("name", json!("runner"));
    world.settle_changed(Ask::Storable, &Nobody, |asking| asking.executor = same).unwrap();
    for changed in [
        other("interpreter", json!(["sh", "-c", "id"])),
        other("capabilities", json!(["code:exec", {"name": "fs:write", "hint": "~/a"}])),
        other("summary", json!("another")),
        other("backend", json!("bwrap")),
    ] {
        let refused =
            world.settle_changed(Ask::Storable, &Nobody, |asking| asking.executor = changed);
        refused.expect_err(&format!("{:?}", changed.manifest));
    }
    let words = &*Vec::leak(vec![OsString::from("sh"), "-c".into(), "id".into()]);
    let paths = &*Vec::leak(vec![HostPath::new("/srv").unwrap()]);
    let changes: [&dyn Fn(&mut Asking<'_>); 5] = [
        &|asking| asking.command = words,
        &|asking| asking.around = Level::Bwrap,
        &|asking| asking.around = Level::None,
        &|asking| asking.extra_ro = paths,
        &|asking| asking.extra_rw = paths,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let refused = world.settle_changed(Ask::Storable, &Nobody, change);
        refused.expect_err(&number.to_string());
    }
    world.settle(Ask::Storable, &Nobody).unwrap();
}

/// An answer that cannot be kept on record does not hold.
#[test]
fn no_record_no_answer() {
    let world = World::new();
    std::fs::write(world.state.as_path(), "a file").unwrap();
    let yes = Callback(|_: &Question| Answer::Once);
    assert!(matches!(world.settle(Ask::Always, &yes), Err(Failure::Unavailable { .. })));
}
