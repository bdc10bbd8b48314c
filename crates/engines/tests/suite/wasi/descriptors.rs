//! Descriptors: reading, writing, seeking, what they are and what they may be used for.

use crate::program::*;

/// A22: what is written is read again, and a position moves as on Linux.
#[test]
fn files_are_written_read_and_sought() {
    let mut program = Program::new();
    let file = program.open("file", CREATE | EXCLUSIVE, 0);
    program.write(file, "hello world");
    program.call("fd_seek", &[file, L(6), I(0), I(RESULT)], 0);
    program.show(RESULT, 8);
    program.read(file, 8);
    program.call("fd_tell", &[file, I(RESULT)], 0);
    program.show(RESULT, 1);
    program.call("fd_seek", &[file, L((-4_i64).cast_unsigned()), I(2), I(RESULT)], 0);
    program.read(file, 2);
    program.call("fd_seek", &[file, L((-1_i64).cast_unsigned()), I(1), I(RESULT)], 0);
    program.read(file, 1);
    for (offset, whence) in [(-1_i64, 0), (-100, 1), (-100, 2), (0, 3)] {
        program.call("fd_seek", &[file, L(offset.cast_unsigned()), I(whence), I(RESULT)], INVAL);
    }
    let [list, count] = program.list(ROOM, 5);
    program.call("fd_pread", &[file, list, count, L(0), I(RESULT)], 0);
    program.show(ROOM, 5);
    let [I(at), I(length)] = program.text("HE") else { unreachable!() };
    let [list, count] = program.list(at, length);
    program.call("fd_pwrite", &[file, list, count, L(0), I(RESULT)], 0);
    program.call("fd_datasync", &[file], 0);
    program.call("fd_sync", &[file], 0);
    program.call("fd_close", &[file], 0);
    program.call("fd_close", &[file], BADF);
    let shown = program.run_in(
        |_| {},
        |files| {
            let found = files.read_file(&crate::program::caller(), b"/work/file", 100).unwrap();
            assert_eq!(found, b"HEllo world");
        },
    );
    let expected = [
        &b"\x0b\0\0\0\x06\0\0\0\0\0\0\0\x05\0\0\0world...\x0b"[..],
        b"\x02\0\0\0or\x01\0\0\0rhello",
    ];
    assert_eq!(shown, expected.concat());
}

/// A22: several pieces are one read or write; lengths that are no lengths are refused.
#[test]
fn pieces_are_put_together() {
    let mut program = Program::new();
    let file = program.open("file", CREATE, 0);
    let [I(one), _] = program.text("one,") else { unreachable!() };
    let [I(two), _] = program.text("two") else { unreachable!() };
    let words: Vec<u8> =
        [one, 4, two, 0, two, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    let [list, _] = program.text(words);
    program.call("fd_write", &[file, list, I(3), I(RESULT)], 0);
    program.show(RESULT, 1);
    program.call("fd_write", &[file, list, I(1025), I(RESULT)], INVAL);
    let far: Vec<u8> = [u32::MAX - 3, 8].iter().flat_map(|word| word.to_le_bytes()).collect();
    let [list, _] = program.text(far);
    program.call("fd_write", &[file, list, I(1), I(RESULT)], FAULT);
    program.call("fd_read", &[file, list, I(1), I(RESULT)], FAULT);
    program.call("fd_read", &[file, I(u32::MAX - 4), I(1), I(RESULT)], FAULT);
    let much: Vec<u8> =
        [0, u32::MAX, 0, u32::MAX].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let [list, _] = program.text(much);
    program.call("fd_write", &[file, list, I(2), I(RESULT)], FAULT);
    let shown = program.run_as_module("the adapter looks at the first piece alone");
    assert_eq!(shown, b"\x07");
}

/// A22: a file that is appended to stays so until that is switched off.
#[test]
fn appending_goes_to_the_end() {
    let mut program = Program::new();
    let file = program.open("file", CREATE, APPEND);
    program.write(file, "a");
    program.call("fd_seek", &[file, L(0), I(0), I(RESULT)], 0);
    program.write(file, "b");
    program.call("fd_fdstat_get", &[file, I(ROOM)], 0);
    program.show(ROOM, 4);
    program.call("fd_fdstat_set_flags", &[file, I(0)], 0);
    program.call("fd_seek", &[file, L(0), I(0), I(RESULT)], 0);
    program.write(file, "A");
    program.call("fd_fdstat_set_flags", &[file, I(APPEND)], 0);
    program.write(file, "c");
    program.call("fd_fdstat_set_flags", &[file, I(32)], INVAL);
    program.call("fd_seek", &[file, L(0), I(0), I(RESULT)], 0);
    program.read(file, 4);
    let shown =
        program.run_as_module("the adapter goes on where it was when appending is switched on");
    assert!(shown.ends_with(b"\x03\0\0\0Abc."), "{shown:?}");
    assert_eq!(&shown[8..12], [4, 0, 1, 0]);
}

/// A22: size, times, space.
#[test]
fn what_is_known_of_a_file_can_be_changed() {
    let mut program = Program::new();
    let file = program.open("file", CREATE, 0);
    program.write(file, "123456");
    program.call("fd_filestat_set_size", &[file, L(3)], 0);
    program.of_modules_alone("there is no such call in preview 2", |program| {
        program.call("fd_allocate", &[file, L(0), L(10)], 0);
        program.call("fd_allocate", &[file, L(0), L(0)], INVAL);
    });
    program.call("fd_filestat_set_size", &[file, L(10)], 0);
    program.call("fd_advise", &[file, L(0), L(0), I(0)], 0);
    program.call("fd_advise", &[file, L(0), L(0), I(6)], INVAL);
    program.call("fd_filestat_set_times", &[file, L(1_500_000_000), L(2_500_000_001), I(1 | 4)], 0);
    program.call("fd_filestat_set_times", &[file, L(0), L(0), I(3)], INVAL);
    program.of_modules_alone("the adapter passes over what it does not know", |program| {
        program.call("fd_filestat_set_times", &[file, L(0), L(0), I(16)], INVAL);
    });
    program.call("fd_filestat_get", &[file, I(ROOM)], 0);
    program.show(ROOM + 16, 1);
    program.show(ROOM + 24, 32);
    let shown = program.run();
    let words: Vec<u64> =
        shown[5..].chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(shown[4], 4);
    assert_eq!(words, [1, 10, 1_500_000_000, 2_500_000_001]);
}

/// A22: rights are only lost, and what is lost cannot be done.
#[test]
fn rights_are_only_lost() {
    let (read, seek, write, tell) = (1 << 1, 1 << 2, 1 << 6, 1 << 5);
    let mut program = Program::new();
    let file = program.open_with("file", CREATE, 0, read | seek | write | tell);
    program.write(file, "x");
    program.call("fd_filestat_get", &[file, I(ROOM)], NOTCAPABLE);
    program.call("fd_filestat_set_size", &[file, L(0)], NOTCAPABLE);
    program.call("fd_fdstat_set_rights", &[file, L(read | tell), L(0)], 0);
    program.call("fd_fdstat_set_rights", &[file, L(read | write), L(0)], NOTCAPABLE);
    let [list, count] = program.list(ROOM, 1);
    program.call("fd_write", &[file, list, count, I(RESULT)], BADF);
    program.call("fd_seek", &[file, L(0), I(0), I(RESULT)], NOTCAPABLE);
    program.call("fd_seek", &[file, L(0), I(1), I(RESULT)], 0);
    // A directory that passes on nothing but reading.
    program.call("path_create_directory", &[I(DIR), I(0), I(0)], NOENT);
    let [path, length] = program.text("below");
    program.call("path_create_directory", &[I(DIR), path, length], 0);
    program.call("fd_fdstat_set_rights", &[I(DIR), L(1 << 13), L(read)], 0);
    program.call("path_create_directory", &[I(DIR), path, length], NOTCAPABLE);
    let [path, length] = program.text("file");
    let open = |rights: u64| [I(DIR), I(0), path, length, I(0), L(rights), L(0), I(0), I(RESULT)];
    program.call("path_open", &open(read | write), NOTCAPABLE);
    program.call("path_open", &open(read), 0);
    program.call("fd_read", &[At(RESULT), list, count, I(ROOM + 8)], 0);
    program.show(ROOM, 1);
    let shown = program.run_as_module("there are no rights in preview 2");
    assert_eq!(shown, b"\x01\0\0\0x");
}

/// A22: streams are streams, numbers are given anew, and a directory is no file.
#[test]
fn streams_and_numbers() {
    let mut program = Program::new();
    program.read(I(0), 3);
    program.read(I(0), 3);
    program.read(I(0), 3);
    for call in ["fd_seek", "fd_pread"] {
        let words: &[Word] = match call {
            "fd_seek" => &[I(0), L(0), I(0), I(RESULT)],
            _ => &[I(0), I(ROOM), I(0), L(0), I(RESULT)],
        };
        program.call(call, words, SPIPE);
        if call == "fd_pread" {
            // The adapter has nothing to do where there is no piece.
            program.as_component(0);
        }
    }
    let [list, count] = program.list(ROOM, 1);
    program.call("fd_write", &[I(0), list, count, I(RESULT)], BADF);
    program.call("fd_read", &[I(1), list, count, I(RESULT)], BADF);
    program.call("fd_read", &[I(99), list, count, I(RESULT)], BADF);
    program.call("fd_filestat_get", &[I(1), I(ROOM)], 0);
    program.call("fd_prestat_get", &[I(0), I(ROOM)], BADF);
    // Directories.
    program.call("fd_read", &[I(DIR), list, count, I(RESULT)], BADF);
    program.call("fd_write", &[I(DIR), list, count, I(RESULT)], BADF);
    program.call("fd_seek", &[I(DIR), L(0), I(0), I(RESULT)], BADF);
    program.call("fd_tell", &[I(DIR), I(RESULT)], BADF);
    program.call("fd_advise", &[I(DIR), L(0), L(0), I(0)], BADF);
    program.call("fd_allocate", &[I(DIR), L(0), L(1)], BADF);
    program.call("fd_filestat_set_size", &[I(DIR), L(0)], BADF);
    // A number that is taken over.
    let (one, two) = (program.open("one", CREATE, 0), program.open("two", CREATE, 0));
    program.write(one, "1");
    program.call("fd_renumber", &[one, two], 0);
    program.call("fd_tell", &[two, I(RESULT)], 0);
    program.show(RESULT, 1);
    program.call("fd_tell", &[one, I(RESULT)], BADF);
    program.call("fd_renumber", &[two, I(77)], BADF);
    program.call("fd_renumber", &[I(77), two], BADF);
    program.call("fd_renumber", &[two, two], 0);
    // The lowest that is free is given next.
    let again = program.open("one", 0, 0);
    program.raw(&format!(
        "(i32.store (i32.const {RESULT}) (i32.load (i32.const {})))",
        match again {
            At(at) => at,
            _ => unreachable!(),
        }
    ));
    program.show(RESULT, 1);
    let shown = program.run();
    assert_eq!(shown, b"\x03\0\0\0inp\x02\0\0\0ut.\0\0\0\0...\x01\0\0\0\x01\x04");
}

/// A25: descriptors are bounded.
#[test]
fn descriptors_are_bounded() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.open("file", CREATE, 0);
    }
    let [path, length] = program.text("other");
    let words = [I(DIR), I(0), path, length, I(CREATE), L(2), L(0), I(0), I(RESULT)];
    // Preview 2 has no code for it.
    program.call("path_open", &words, MFILE).as_component(NOMEM);
    program.run_in(
        |world| world.limits.max_descriptors = 8,
        |files| {
            // Nothing is made that nobody could be given.
            assert!(files.read_file(&crate::program::caller(), b"/work/other", 1).is_err());
        },
    );
}
