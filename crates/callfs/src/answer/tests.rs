//! How a call is asked, read, asked anew and given up.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::io::Errno;

use super::{Answer, Answers, CallFile};
use crate::tree::Stream as _;

/// Hands every question out, to be answered by the test.
struct Later(Mutex<Sender<(Vec<u8>, Arc<Answer>)>>);

impl Answers for Later {
    fn answer(&self, question: Vec<u8>, answer: &Arc<Answer>) {
        self.0.lock().unwrap().send((question, Arc::clone(answer))).unwrap();
    }
}

fn text(file: &CallFile) -> String {
    let (mut all, mut part) = (Vec::new(), [0; 3]);
    loop {
        match file.read(&mut part, &|| false).unwrap() {
            0 => return String::from_utf8(all).unwrap(),
            count => all.extend_from_slice(&part[..count]),
        }
    }
}

/// V21: several writes are one question, its answer is read in parts, and the next write asks anew.
#[test]
fn what_is_written_is_asked_once_and_then_anew() {
    let (sender, asked) = channel();
    let file = CallFile::new(Arc::new(Later(Mutex::new(sender))), "error: nothing\n");
    assert_eq!((file.write(b"one "), file.write(b"two")), (Ok(4), Ok(3)));
    let answering = std::thread::spawn(move || {
        for expected in ["one two", "three"] {
            let (question, answer) = asked.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(question, expected.as_bytes());
            answer.add(b"re: ");
            answer.add(&question);
            answer.end();
        }
    });
    assert_eq!(text(&file), "re: one two");
    assert_eq!(text(&file), "", "an answer was read twice");
    assert_eq!(file.write(b"three"), Ok(5));
    assert_eq!(text(&file), "re: three");
    answering.join().unwrap();
}

/// V21: a reader that has asked nothing is told so; errors begin with `error:`.
#[test]
fn nothing_is_asked_by_reading_alone() {
    let (sender, asked) = channel();
    let file = CallFile::new(Arc::new(Later(Mutex::new(sender))), "error: nothing\n");
    assert_eq!(text(&file), "error: nothing\n");
    assert!(asked.try_recv().is_err());
}

/// V21: closing cancels; a reader that is woken gets `EINTR` and loses nothing.
#[test]
fn closing_cancels_and_waking_does_not() {
    let (sender, asked) = channel();
    let file = CallFile::new(Arc::new(Later(Mutex::new(sender))), "");
    file.write(b"slow").unwrap();
    assert_eq!(file.read(&mut [0; 8], &|| true), Err(Errno::INTR));
    assert_eq!(file.write(b"more"), Err(Errno::BUSY), "two questions at once");
    let (_, answer) = asked.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(!answer.cancel().is_cancelled());
    answer.add(b"done");
    let mut part = [0; 8];
    assert_eq!(file.read(&mut part, &|| false), Ok(4));
    file.close();
    assert!(answer.cancel().is_cancelled());
    assert_eq!(file.read(&mut part, &|| false), Err(Errno::BADF));
}

/// V21: what is asked is bounded.
#[test]
fn a_question_without_end_is_refused() {
    let (sender, _asked) = channel();
    let file = CallFile::new(Arc::new(Later(Mutex::new(sender))), "");
    let part = vec![b'x'; 1 << 20];
    let taken = (0..20).take_while(|_| file.write(&part).is_ok()).count();
    assert_eq!(taken, 8);
    assert_eq!(file.write(&part), Err(Errno::FBIG));
}
