//! Listings, and the directories that a module begins with.

use crate::program::*;

/// One `dirent` after the other: their names, what they are and the cookies after them.
fn entries(mut bytes: &[u8]) -> Vec<(String, u8, u64)> {
    let mut found = Vec::new();
    while bytes.len() >= 24 {
        let next = bytes;
        let cookie = u64::from_le_bytes(next[..8].try_into().unwrap());
        let length = u32::from_le_bytes(next[16..20].try_into().unwrap());
        let length = usize::try_from(length).unwrap();
        let Some(name) = next.get(24..24 + length) else { break };
        found.push((String::from_utf8(name.to_vec()).unwrap(), next[20], cookie));
        bytes = &next[24 + length..];
    }
    found
}

/// A22: a directory is listed in full, from wherever a cookie says.
#[test]
fn a_directory_is_listed() {
    let mut program = Program::new();
    for name in ["a", "b", "c"] {
        program.open(name, CREATE, 0);
    }
    let [path, length] = program.text("d");
    program.call("path_create_directory", &[I(DIR), path, length], 0);
    program.call("fd_readdir", &[I(DIR), I(ROOM), I(4096), L(0), I(RESULT)], 0);
    program.show(RESULT, 4);
    program.show(ROOM, 24 * 6 + 3 + 4);
    // From after the third, whose cookie lies before the name of the fourth or wherever it is.
    program.call("fd_readdir", &[I(DIR), I(ROOM), I(30), L(0), I(RESULT)], 0);
    program.show(RESULT, 4);
    program.call("fd_readdir", &[I(1), I(ROOM), I(30), L(0), I(RESULT)], NOTDIR);
    program.call("fd_readdir", &[I(DIR), I(u32::MAX - 5), I(30), L(0), I(RESULT)], FAULT);
    for engine in engines() {
        let (mut world, kept) = world(&engine);
        world.files.write_file(&world.caller, b"/work/z", b"").unwrap();
        world.files.remove(&world.caller, vfs::At::Root, b"/work/z", vfs::Removal::File).unwrap();
        let wasm = engines::wasm::Wasm::new(&world.limits).unwrap();
        let module = wasm.compile(&program.bytes(Form::Module)).unwrap();
        world.limits.max_descriptors = 100;
        assert_eq!(wasm.run(&module, world).unwrap(), engines::End::Exited(0), "{}", engine.0);
        let shown = kept.0.bytes();
        let used = u32::from_le_bytes(shown[..4].try_into().unwrap());
        assert_eq!(usize::try_from(used).unwrap(), 24 * 6 + 3 + 4, "{}", engine.0);
        let mut found = entries(&shown[4..shown.len() - 4]);
        found.sort();
        let names: Vec<(&str, u8)> =
            found.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect();
        assert_eq!(names, [(".", 3), ("..", 3), ("a", 4), ("b", 4), ("c", 4), ("d", 3)]);
        assert_eq!(&shown[shown.len() - 4..], [30, 0, 0, 0]);
    }
}

/// A22: going on from a cookie lists the rest, each name once.
#[test]
fn a_listing_goes_on() {
    // A loop that asks with room for two names, and goes on from the cookie of the last whole one.
    let text = "(module
        (import \"wasi_snapshot_preview1\" \"fd_readdir\"
          (func $list (param i32 i32 i32 i64 i32) (result i32)))
        (import \"wasi_snapshot_preview1\" \"fd_write\"
          (func $write (param i32 i32 i32 i32) (result i32)))
        (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))
        (memory (export \"memory\") 1)
        (global $cookie (mut i64) (i64.const 0))
        (func (export \"_start\") (local $used i32) (local $size i32)
          (loop $more
            (if (call $list (i32.const 3) (i32.const 1024) (i32.const 60) (global.get $cookie) (i32.const 0))
              (then (call $exit (i32.const 9))))
            (local.set $used (i32.load (i32.const 0)))
            (if (i32.ge_u (local.get $used) (i32.const 24)) (then
              (local.set $size (i32.load (i32.const 1040)))
              (global.set $cookie (i64.load (i32.const 1024)))
              (i32.store (i32.const 8) (i32.const 1048))
              (i32.store (i32.const 12) (local.get $size))
              (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 4)))
              (i32.store8 (i32.const 1000) (i32.const 10))
              (i32.store (i32.const 8) (i32.const 1000))
              (i32.store (i32.const 12) (i32.const 1))
              (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 4)))
              (br $more))))))";
    for engine in engines() {
        let (world, kept) = world(&engine);
        let mut expected = vec![".".to_owned(), "..".to_owned()];
        for number in 0..100 {
            let name = format!("file-{number}");
            world.files.write_file(&world.caller, format!("/work/{name}").as_bytes(), b"").unwrap();
            expected.push(name);
        }
        let wasm = engines::wasm::Wasm::new(&world.limits).unwrap();
        let module = wasm.compile(&wat::parse_str(text).unwrap()).unwrap();
        assert_eq!(wasm.run(&module, world).unwrap(), engines::End::Exited(0), "{}", engine.0);
        let shown = String::from_utf8(kept.0.bytes()).unwrap();
        let mut names: Vec<&str> = shown.lines().collect();
        names.sort_unstable();
        expected.sort();
        assert_eq!(names, expected, "{}", engine.0);
    }
}

/// A22: a module finds out what it begins with.
#[test]
fn directories_are_named() {
    let mut program = Program::new();
    program.call("fd_prestat_get", &[I(DIR), I(ROOM)], 0);
    program.show(ROOM, 8);
    program.call("fd_prestat_dir_name", &[I(DIR), I(ROOM), I(5)], 0);
    program.show(ROOM, 5);
    program.call("fd_prestat_dir_name", &[I(DIR), I(ROOM), I(4)], NAMETOOLONG);
    program.call("fd_prestat_get", &[I(DIR + 1), I(ROOM)], BADF);
    let directory = program.open(".", DIRECTORY, 0);
    program.call("fd_prestat_get", &[directory, I(ROOM)], BADF);
    // The adapter knows this of files alone.
    program.call("fd_sync", &[directory], 0).as_component(BADF);
    program.call("fd_fdstat_get", &[directory, I(ROOM)], 0);
    program.show(ROOM, 1);
    assert_eq!(program.run(), b"\0\0\0\0\x05\0\0\0/work\x03");
}
