//! A service as files: what it is for, a question, its failure.

use std::sync::Arc;

use model::Cancel;

use super::{AsksService, ServiceFiles};
use crate::tree::{Opened, ROOT, Tree as _};

struct Upper;

impl AsksService for Upper {
    fn doc(&self, _: &Cancel) -> Result<Vec<u8>, String> {
        Ok(b"Makes it louder.\n".to_vec())
    }

    fn ask(&self, question: Vec<u8>, _: &Cancel) -> Result<Vec<u8>, String> {
        match question.is_empty() || question == b"no" {
            true => Err("it will not".to_owned()),
            false => Ok(question.to_ascii_uppercase()),
        }
    }
}

fn contents(name: &str, question: &str) -> String {
    let files = ServiceFiles::new(Arc::new(Upper));
    let number = files.child(ROOT, name.as_bytes()).unwrap();
    let Opened::Stream(stream) = files.open(number).unwrap() else { panic!("{name}") };
    if !question.is_empty() {
        stream.write(question.as_bytes()).unwrap();
    }
    let (mut text, mut buffer) = (Vec::new(), vec![0; 4096]);
    loop {
        match stream.read(&mut buffer, &|| false).unwrap() {
            0 => return String::from_utf8(text).unwrap(),
            count => text.extend_from_slice(&buffer[..count]),
        }
    }
}

/// V28: what is asked is bytes, and so is what is answered; an error begins as every other one.
#[test]
fn a_service_is_asked_through_files() {
    assert_eq!(contents("doc", ""), "Makes it louder.\n");
    assert_eq!(contents("ask", "quiet"), "QUIET");
    assert_eq!(contents("ask", "no"), "error: it will not\n");
    assert!(contents("ask", "").starts_with("error: nothing was asked"));
    let files = ServiceFiles::new(Arc::new(Upper));
    assert!(files.child(ROOT, b"key").is_none() && files.open(ROOT).is_err());
    assert_eq!(files.names(ROOT).len(), 2);
}
