//! What programs write: kept within bounds, read at any pace, by any number of readers.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use cage::runner::{Input, Keep, Output, Overflow, Request, Streams, TerminalSize};

use crate::support::{eventually, runner, shell, stdout_of};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_flood_that_nobody_reads_is_cut", a_flood_that_nobody_reads_is_cut),
    ("a_flood_waits_for_its_reader", a_flood_waits_for_its_reader),
    ("readers_follow_from_any_position", readers_follow_from_any_position),
    ("input_reaches_the_program", input_reaches_the_program),
    ("a_terminal_is_made_for_the_program", a_terminal_is_made_for_the_program),
    ("output_without_room_cannot_be_waited_for", output_without_room_cannot_be_waited_for),
];

fn keeping(script: &str, bytes: usize, overflow: Overflow) -> Request {
    let keep = || Output::Keep(Keep { bytes, overflow });
    let streams = Streams::Separate { stdin: Input::Null, stdout: keep(), stderr: keep() };
    Request { streams, ..shell(script) }
}

pub(crate) fn with_input() -> Streams {
    Streams::Separate {
        stdin: Input::Pipe,
        stdout: Output::Keep(Keep::default()),
        stderr: Output::Null,
    }
}

const GIBIBYTE: u64 = 1 << 30;

fn output_without_room_cannot_be_waited_for() {
    let runner = runner();
    let refused = runner.spawn(keeping("echo hi", 0, Overflow::Backpressure)).unwrap_err();
    assert_eq!(refused.kind(), cage::Kind::Usage);
    let handle = runner.spawn(keeping("echo hi", 0, Overflow::Discard)).unwrap();
    assert!(handle.wait().is_success());
}

/// K238
fn a_flood_that_nobody_reads_is_cut() {
    let runner = runner();
    let script = "head -c 1073741824 /dev/zero; echo end";
    let handle = runner.spawn(keeping(script, 1 << 20, Overflow::Discard)).unwrap();
    assert!(handle.wait().is_success());
    let kept = handle.stdout().unwrap().kept();
    assert_eq!((kept.end, kept.end - kept.start), (GIBIBYTE + 4, 1 << 20));
    let mut reader = handle.stdout().unwrap().reader();
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 1 << 20);
    assert!(bytes.ends_with(b"\0end\n"));
    let mut late = handle.stdout().unwrap().reader_at(5);
    assert_eq!((late.position(), late.missed()), (kept.start, 0));
    assert_eq!(late.read(&mut [0; 16]).unwrap(), 16);
}

/// K238
fn a_flood_waits_for_its_reader() {
    let runner = runner();
    let script = "head -c 1073741824 /dev/zero; echo end";
    let handle = runner.spawn(keeping(script, 256 << 10, Overflow::Backpressure)).unwrap();
    let output = handle.stdout().unwrap();
    eventually("the buffer is full", || output.kept().end == 256 << 10);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(output.kept(), 0..256 << 10);
    assert!(handle.try_wait().is_none());
    let (mut reader, mut second) = (output.reader(), output.reader());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut count = 0;
            let mut buffer = vec![0; 300_000];
            while let length @ 1.. = second.read(&mut buffer).unwrap() {
                count += u64::try_from(length).unwrap();
            }
            assert_eq!(count, GIBIBYTE + 4);
        });
        let (mut count, mut buffer, mut last) = (0, vec![0; 100_000], 0);
        while let length @ 1.. = reader.read(&mut buffer).unwrap() {
            count += u64::try_from(length).unwrap();
            last = buffer[length - 1];
        }
        assert_eq!((count, last, reader.missed()), (GIBIBYTE + 4, b'\n', 0));
    });
    assert!(handle.wait().is_success());
}

fn readers_follow_from_any_position() {
    let runner = runner();
    let handle = runner.spawn(Request { streams: with_input(), ..shell("cat") }).unwrap();
    let mut stdin = std::fs::File::from(handle.take_stdin().unwrap());
    assert!(handle.take_stdin().is_none());
    let output = handle.stdout().unwrap();
    let mut first = output.reader();
    assert_eq!(first.read_now(&mut [0; 8]), None);
    stdin.write_all(b"0123456789").unwrap();
    let mut word = [0; 4];
    first.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"0123");
    eventually("all is there", || output.kept().end == 10);
    let mut second = output.reader_at(8);
    stdin.write_all(b"abc").unwrap();
    drop(stdin);
    let mut rest = String::new();
    second.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "89abc");
    first.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "89abc456789abc");
    assert!(handle.wait().is_success() && handle.stderr().is_none());
}

fn input_reaches_the_program() {
    let runner = runner();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let streams = Streams::Separate {
        stdin: Input::Descriptor(reader.into()),
        stdout: Output::Keep(Keep::default()),
        stderr: Output::Null,
    };
    let handle = runner.spawn(Request { streams, ..shell("wc -c") }).unwrap();
    writer.write_all(&[b'x'; 5000]).unwrap();
    drop(writer);
    assert_eq!(stdout_of(&handle).trim(), "5000");
}

fn a_terminal_is_made_for_the_program() {
    let runner = runner();
    let size = TerminalSize { rows: 31, columns: 97 };
    let streams = Streams::Terminal { size, keep: Keep::default() };
    let script = "stty size; read word; echo \"got $word\"; trap 'stty size; exit 3' WINCH; \
                  while :; do sleep 0.1; done";
    let handle = runner.spawn(Request { streams, ..shell(script) }).unwrap();
    let mut input = std::fs::File::from(handle.take_stdin().unwrap());
    input.write_all(b"hello\n").unwrap();
    let text = || {
        let mut reader = handle.stdout().unwrap().reader();
        let mut buffer = [0; 4096];
        let count = reader.read_now(&mut buffer).unwrap_or_default();
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    };
    eventually("the program has answered", || text().contains("got hello"));
    assert!(text().contains("31 97"), "{}", text());
    std::thread::sleep(Duration::from_millis(100));
    handle.resize_terminal(TerminalSize { rows: 10, columns: 20 }).unwrap();
    assert_eq!(handle.wait().exit_code(), 3);
    assert!(stdout_of(&handle).contains("10 20"), "{}", stdout_of(&handle));
}
