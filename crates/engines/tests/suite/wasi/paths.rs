//! Paths: what they lead to, and that they never lead out of their directory.

use engines::Preopen;
use vfs::{At as From, New};

use crate::program::*;

/// A1, A22: no path leaves its directory, by whatever it tries.
#[test]
fn no_path_leaves_its_directory() {
    let mut program = Program::new();
    let outside = [
        "/secret",
        "/work/file",
        "..",
        "../secret",
        "below/../../secret",
        "to_root/secret",
        "to_parent/secret",
        "absolute",
        "below/up/up/secret",
    ];
    for path in outside {
        let [path, length] = program.text(path);
        let open = [I(DIR), I(1), path, length, I(0), L(2), L(0), I(0), I(RESULT)];
        program.call("path_open", &open, NOTCAPABLE);
        let stat = [I(DIR), I(1), path, length, I(ROOM)];
        program.call("path_filestat_get", &stat, NOTCAPABLE);
        let times = [I(DIR), I(1), path, length, L(0), L(0), I(1)];
        program.call("path_filestat_set_times", &times, NOTCAPABLE);
    }
    for path in ["../new", "/new", "to_root/new", "to_parent/new"] {
        let [path, length] = program.text(path);
        let open = [I(DIR), I(1), path, length, I(CREATE), L(2), L(0), I(0), I(RESULT)];
        program.call("path_open", &open, NOTCAPABLE);
        program.call("path_create_directory", &[I(DIR), path, length], NOTCAPABLE);
        program.call("path_unlink_file", &[I(DIR), path, length], NOTCAPABLE);
        program.call("path_remove_directory", &[I(DIR), path, length], NOTCAPABLE);
        program.call("path_symlink", &[path, length, I(DIR), path, length], NOTCAPABLE);
        let [file, file_length] = program.text("file");
        program.call("path_rename", &[I(DIR), file, file_length, I(DIR), path, length], NOTCAPABLE);
        program.call("path_rename", &[I(DIR), path, length, I(DIR), file, file_length], NOTCAPABLE);
        let link = [I(DIR), I(0), file, file_length, I(DIR), path, length];
        program.call("path_link", &link, NOTCAPABLE);
        let link = [I(DIR), I(0), path, length, I(DIR), file, file_length];
        program.call("path_link", &link, NOTCAPABLE);
    }
    // The links themselves can be looked at, and what stays inside is found.
    for (path, expected) in
        [("to_root", 0), ("below/../file", 0), ("below/up/file", 0), ("", NOENT)]
    {
        let [path, length] = program.text(path);
        let length = if expected == NOENT { I(0) } else { length };
        program.call("path_filestat_get", &[I(DIR), I(0), path, length, I(ROOM)], expected);
    }
    let [path, length] = program.text("to\0root");
    program.call("path_filestat_get", &[I(DIR), I(0), path, length, I(ROOM)], INVAL);
    let [path, _] = program.text([b'x'; 4096]);
    program.call("path_filestat_get", &[I(DIR), I(0), path, I(4096), I(ROOM)], NAMETOOLONG);
    program.of_modules_alone("a component is ended by such an address", |program| {
        program.call("path_filestat_get", &[I(DIR), I(0), I(u32::MAX), I(9), I(ROOM)], FAULT);
    });
    program.call("path_filestat_get", &[I(77), I(0), path, I(1), I(ROOM)], BADF);
    // The adapter knows that it is none of its directories, and no more.
    program
        .call("path_filestat_get", &[I(1), I(0), path, I(1), I(ROOM)], NOTDIR)
        .as_component(BADF);
    program.run_in(
        |world| {
            let root = crate::program::caller();
            let make = |path: &str, new| {
                world.files.make(&root, From::Root, path.as_bytes(), new, 0o777).unwrap();
            };
            make("/work/below", New::Directory);
            make("/work/to_root", New::Link(b"/"));
            make("/work/to_parent", New::Link(b".."));
            make("/work/absolute", New::Link(b"/work/file"));
            make("/work/below/up", New::Link(b".."));
            make("/work/up", New::Link(b".."));
            world.files.write_file(&root, b"/work/file", b"inside").unwrap();
        },
        |files| {
            let found = files.read_file(&crate::program::caller(), b"/secret", 100).unwrap();
            assert_eq!(found, b"secret");
            assert!(files.read_file(&crate::program::caller(), b"/new", 100).is_err());
        },
    );
}

/// A22: where the root itself is given, links that begin with a slash lead from it on, as they do for everybody else.
#[test]
fn links_are_followed_in_a_root() {
    let mut program = Program::new();
    let [path, length] = program.text("work/absolute");
    let open = [I(DIR), I(1), path, length, I(0), L(2), L(0), I(0), I(RESULT)];
    program.call("path_open", &open, 0);
    program.read(At(RESULT), 6);
    let [path, length] = program.text("work/../../secret");
    program.call("path_filestat_get", &[I(DIR), I(1), path, length, I(ROOM)], NOTCAPABLE);
    let shown = program.run_in(
        |world| {
            let root = Preopen::open(&world.files, &world.caller, b"/", b"/work").unwrap();
            world.preopens = vec![root];
            let new = New::Link(b"/secret");
            world
                .files
                .make(&crate::program::caller(), From::Root, b"/work/absolute", new, 0)
                .unwrap();
        },
        |_| {},
    );
    assert!(shown.ends_with(b"secret"), "{shown:?}");
}

/// A22: opening, as its flags say.
#[test]
fn opening_is_exact() {
    let mut program = Program::new();
    let file = program.open("file", CREATE | EXCLUSIVE, 0);
    program.write(file, "text");
    let mut open = |path: &str, follow: u32, how: u32, rights: u64, flags: u32, expected: u32| {
        let [path, length] = program.text(path);
        let words = [I(DIR), I(follow), path, length, I(how), L(rights), L(0), I(flags), I(RESULT)];
        program.call("path_open", &words, expected);
        if how == 16 || flags == 64 {
            // The adapter passes over what it does not know.
            program.as_component(0);
        }
    };
    let (read, write) = (2, 64);
    open("file", 1, CREATE | EXCLUSIVE, read, 0, EXIST);
    open("file", 1, DIRECTORY, read, 0, NOTDIR);
    open("file/", 1, 0, read, 0, NOTDIR);
    open("file/x", 1, 0, read, 0, NOTDIR);
    open("missing", 1, 0, read, 0, NOENT);
    open("missing/x", 1, CREATE, read, 0, NOENT);
    open("file", 1, 16, read, 0, INVAL);
    open("file", 1, 0, read, 64, INVAL);
    open("new", 1, CREATE | DIRECTORY, read, 0, INVAL);
    open(".", 1, 0, write, 0, ISDIR);
    open(".", 1, DIRECTORY, EVERY_RIGHT, 0, 0);
    open("link", 0, 0, read, 0, LOOP);
    open("link", 1, 0, read, 0, 0);
    open("file", 1, TRUNCATE, write, 0, 0);
    program.call("fd_filestat_get", &[file, I(ROOM)], 0);
    program.show(ROOM + 32, 1);
    let shown = program.run_in(
        |world| {
            let new = New::Link(b"file");
            world.files.make(&crate::program::caller(), From::Root, b"/work/link", new, 0).unwrap();
        },
        |_| {},
    );
    assert_eq!(shown, b"\x04\0\0\0\0");
}

/// A22: links of both kinds, names that change, and what is removed.
#[test]
fn names_are_made_changed_and_removed() {
    let mut program = Program::new();
    let file = program.open("file", CREATE, 0);
    program.write(file, "x");
    let mut texts = std::collections::BTreeMap::new();
    for path in
        ["file", "hard", "soft", "directory", "directory/in", "moved", "missing", "directory/"]
    {
        texts.insert(path, program.text(path));
    }
    let two = |one: &str, other: &str| {
        let ([a, b], [c, d]) = (texts[one], texts[other]);
        [a, b, c, d]
    };
    let link = |program: &mut Program, from: &str, to: &str, expected| {
        let [a, b, c, d] = two(from, to);
        program.call("path_link", &[I(DIR), I(0), a, b, I(DIR), c, d], expected);
    };
    let rename = |program: &mut Program, from: &str, to: &str, expected| {
        let [a, b, c, d] = two(from, to);
        program.call("path_rename", &[I(DIR), a, b, I(DIR), c, d], expected);
    };
    let one = |program: &mut Program, call: &str, path: &str, expected| {
        let [path, length] = texts[path];
        program.call(call, &[I(DIR), path, length], expected);
    };
    one(&mut program, "path_create_directory", "directory", 0);
    one(&mut program, "path_create_directory", "directory", EXIST);
    link(&mut program, "file", "hard", 0);
    link(&mut program, "file", "hard", EXIST);
    link(&mut program, "missing", "moved", NOENT);
    link(&mut program, "directory", "moved", PERM);
    let [a, b, c, d] = two("file", "soft");
    program.call("path_symlink", &[a, b, I(DIR), c, d], 0);
    program.call("path_symlink", &[a, b, I(DIR), c, d], EXIST);
    program.call("path_symlink", &[a, I(0), I(DIR), c, d], NOENT);
    program.call("path_readlink", &[I(DIR), c, d, I(ROOM), I(2), I(RESULT)], 0);
    program.show(ROOM, 2);
    program.show(RESULT, 1);
    program.call("path_readlink", &[I(DIR), a, b, I(ROOM), I(2), I(RESULT)], INVAL);
    link(&mut program, "soft", "moved", 0);
    program.call(
        "path_readlink",
        &[I(DIR), texts["moved"][0], texts["moved"][1], I(ROOM), I(9), I(RESULT)],
        0,
    );
    one(&mut program, "path_unlink_file", "moved", 0);
    rename(&mut program, "hard", "directory/in", 0);
    rename(&mut program, "hard", "directory/in", NOENT);
    rename(&mut program, "directory", "file", NOTDIR);
    rename(&mut program, "file", "directory", ISDIR);
    rename(&mut program, "directory", "directory/in", INVAL);
    one(&mut program, "path_remove_directory", "directory", NOTEMPTY);
    one(&mut program, "path_remove_directory", "file", NOTDIR);
    one(&mut program, "path_unlink_file", "directory", ISDIR);
    one(&mut program, "path_unlink_file", "directory/in", 0);
    one(&mut program, "path_unlink_file", "directory/in", NOENT);
    one(&mut program, "path_remove_directory", "directory/", 0);
    // It stays usable without any name.
    one(&mut program, "path_unlink_file", "file", 0);
    program.write(file, "y");
    program.call("fd_seek", &[file, L(0), I(0), I(RESULT)], 0);
    program.read(file, 3);
    // What a link leads to is not there any more; the link is.
    let [path, length] = texts["soft"];
    program.call("path_filestat_get", &[I(DIR), I(1), path, length, I(ROOM)], NOENT);
    program.call("path_filestat_get", &[I(DIR), I(0), path, length, I(ROOM)], 0);
    program.show(ROOM + 16, 1);
    let times = |flags| [I(DIR), I(flags), path, length, L(7), L(1_000_000_005), I(5)];
    program.call("path_filestat_set_times", &times(1), NOENT);
    program.call("path_filestat_set_times", &times(0), 0);
    program.call("path_filestat_get", &[I(DIR), I(0), path, length, I(ROOM)], 0);
    program.show(ROOM + 48, 8);
    let shown = program.run();
    let expected =
        [&b"\x01\0\0\0fi\x02\x01\0\0\0\x02\0\0\0xy.\x07"[..], &1_000_000_005_u64.to_le_bytes()];
    assert_eq!(shown, expected.concat());
}
