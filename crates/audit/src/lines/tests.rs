//! Lines of any bytes come out as they went in.

use std::io::Write as _;

use proptest::prelude::*;

use super::*;

fn part(bytes: &[u8]) -> Part {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Part { number: 1, file: file.into(), begin: 0, length: bytes.len() as u64 }
}

/// Offset, length and whether it has an end, of each line.
fn read(bytes: &[u8]) -> Vec<(u64, u64, bool)> {
    let (part, mut lines, mut found) = (part(bytes), Lines::from(0), Vec::new());
    while let Some(line) = lines.next(&part).unwrap() {
        let (begin, kept) = (usize::try_from(line.offset).unwrap(), line.bytes);
        assert_eq!(kept, &bytes[begin..begin + kept.len()]);
        let length = line.end - line.offset;
        assert_eq!(
            kept.len() as u64,
            (length - u64::from(line.is_ended)).min(16384.max(kept.len() as u64))
        );
        found.push((line.offset, length, line.is_ended));
        assert_eq!(lines.offset(), line_end(&found));
    }
    found
}

fn line_end(found: &[(u64, u64, bool)]) -> u64 {
    found.last().map_or(0, |(offset, length, _)| offset + length)
}

fn expected(bytes: &[u8]) -> Vec<(u64, u64, bool)> {
    let mut offset = 0;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let found = (offset, line.len() as u64, line.ends_with(b"\n"));
            offset += line.len() as u64;
            found
        })
        .collect()
}

#[test]
fn lines_of_every_length_are_told_apart() {
    for length in [0, 1, LONGEST_LINE - 1, LONGEST_LINE, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW]
    {
        for tail in [&b""[..], b"\n", b"\nlast", b"\n\n\nx\n"] {
            let bytes = [&b"first\n"[..], &vec![b'x'; length], tail].concat();
            assert_eq!(read(&bytes), expected(&bytes), "{length}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_are_lines(parts in prop::collection::vec((0..40_000_usize, any::<bool>()), 0..12)) {
        let mut bytes = Vec::new();
        for (length, ended) in parts {
            bytes.resize(bytes.len() + length, b'x');
            if ended {
                bytes.push(b'\n');
            }
        }
        prop_assert_eq!(read(&bytes), expected(&bytes));
    }
}
