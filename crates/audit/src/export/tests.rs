//! An export is all of the log at one moment, in pieces of whatever size, or an error.

use std::io::Read as _;

use super::{Export, export};
use crate::{Event, Expected, Log, verify};

fn session(id: &str) -> Event {
    Event::SessionBegun { session_id: id.into(), project_id: "/srv/app".into() }
}

/// A log of several files, with all of it stated.
fn log(parent: &tempfile::TempDir) -> Log {
    let log = Log::open_with_file_limit(&parent.path().join("audit"), 2000).unwrap();
    for number in 0..20 {
        log.record(&session(&format!("s{number}"))).unwrap();
    }
    log.checkpoint().unwrap();
    log
}

#[test]
fn pieces_make_the_whole_and_later_records_are_not_in_it() {
    let parent = tempfile::tempdir().unwrap();
    let log = log(&parent);
    let mut expected = Vec::new();
    let head = export(log.directory(), &mut expected).unwrap();
    let mut opened = Export::open(log.directory()).unwrap();
    assert_eq!(opened.head(), &head);
    assert_eq!(opened.length(), expected.len() as u64);
    log.record(&session("later")).unwrap();
    log.checkpoint().unwrap();
    let mut whole = Vec::new();
    let mut piece = [0; 7];
    loop {
        match opened.read(&mut piece).unwrap() {
            0 => break,
            count => whole.extend(&piece[..count]),
        }
    }
    assert_eq!(whole, expected);
    let file = parent.path().join("export");
    std::fs::write(&file, whole).unwrap();
    assert_eq!(verify(&file, &Expected::default()).unwrap().records, head.sequence());
}

#[test]
fn a_file_that_is_cut_meanwhile_is_an_error() {
    let parent = tempfile::tempdir().unwrap();
    let log = log(&parent);
    let mut opened = Export::open(log.directory()).unwrap();
    std::fs::write(log.directory().join("000001.jsonl"), "").unwrap();
    let mut whole = Vec::new();
    let error = opened.read_to_end(&mut whole).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_log_of_which_something_is_gone_is_not_exported() {
    for (name, length) in [("000001.jsonl", None), ("000001.jsonl", Some(0)), ("", Some(100))] {
        let parent = tempfile::tempdir().unwrap();
        let log = log(&parent);
        let mut files: Vec<_> = std::fs::read_dir(log.directory())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        files.sort();
        let file = if name.is_empty() { files.pop().unwrap() } else { log.directory().join(name) };
        match length {
            None => std::fs::remove_file(file).unwrap(),
            Some(length) => {
                std::fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
            }
        }
        let exported = Export::open(log.directory());
        assert!(matches!(exported, Err(super::ExportError::Incomplete(_))), "{exported:?}");
    }
}
