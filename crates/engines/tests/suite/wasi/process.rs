//! The module itself: arguments, variables, clocks, chance, its end; and what it does not have.

use engines::End;

use crate::program::*;

/// A22: arguments and variables are the world's, and never this process's.
#[test]
fn words_are_the_worlds() {
    let mut program = Program::new();
    program.call("args_sizes_get", &[I(ROOM), I(ROOM + 4)], 0);
    program.show(ROOM, 8);
    program.call("args_get", &[I(ROOM), I(ROOM + 100)], 0);
    program.show(ROOM + 100, 14);
    program.call("environ_sizes_get", &[I(ROOM), I(ROOM + 4)], 0);
    program.show(ROOM, 8);
    program.call("environ_get", &[I(ROOM), I(ROOM + 100)], 0);
    program.show(ROOM + 100, 10);
    program.of_modules_alone("a component is ended by such an address", |program| {
        program.call("args_get", &[I(u32::MAX), I(ROOM)], FAULT);
        program.call("environ_get", &[I(ROOM), I(u32::MAX)], FAULT);
    });
    let shown = program.run_in(
        |world| {
            world.arguments = vec![b"name".to_vec(), b"one two".to_vec()];
            world.environment =
                vec![(b"A".to_vec(), b"1".to_vec()), (b"B".to_vec(), b"a=b".to_vec())];
        },
        |_| {},
    );
    let expected =
        [&b"\x02\0\0\0\x0d\0\0\0name\0one two\0\0"[..], b"\x02\0\0\0\x0a\0\0\0A=1\0B=a=b\0"];
    assert_eq!(shown, expected.concat());
}

/// A22: clocks go forward, and random bytes are not the same twice.
#[test]
fn clocks_and_chance() {
    let mut program = Program::new();
    clock(&mut program, 0);
    clock(&mut program, 1);
    program.of_modules_alone("there is no processor time in preview 2", |program| {
        clock(program, 2);
        clock(program, 3);
    });
    program.of_modules_alone(
        "the adapter says that it is no clock, and ends at such an address",
        |program| {
            program.call("clock_time_get", &[I(4), L(0), I(RESULT)], INVAL);
            program.call("clock_res_get", &[I(4), I(RESULT)], INVAL);
            program.call("clock_time_get", &[I(0), L(0), I(u32::MAX)], FAULT);
        },
    );
    program.call("random_get", &[I(ROOM), I(32)], 0);
    program.raw(&format!(
        "(if (i64.eq (i64.load (i32.const {ROOM})) (i64.load (i32.const {}))) (then (unreachable)))",
        ROOM + 8
    ));
    program.of_modules_alone("a component is ended by such an address", |program| {
        program.call("random_get", &[I(u32::MAX), I(32)], FAULT);
    });
    program.call("sched_yield", &[], 0);
    program.run();
}

fn clock(program: &mut Program, clock: u32) {
    program.call("clock_res_get", &[I(clock), I(RESULT)], 0);
    program.call("clock_time_get", &[I(clock), L(0), I(RESULT)], 0);
    program.call("clock_time_get", &[I(clock), L(0), I(RESULT + 8)], 0);
    // An earlier time is not after a later one.
    program.raw(&format!(
        "(if (i64.gt_u (i64.load (i32.const {RESULT})) (i64.load (i32.const {})))
           (then (unreachable)))",
        RESULT + 8
    ));
}

/// A22: there are no signals and no sockets.
#[test]
fn what_there_is_not() {
    let mut program = Program::new();
    program.call("proc_raise", &[I(9)], NOTSUP);
    program.call("sock_accept", &[I(DIR), I(0), I(RESULT)], NOTSOCK);
    program.call("sock_recv", &[I(DIR), I(0), I(0), I(0), I(RESULT), I(RESULT)], NOTSOCK);
    program.call("sock_send", &[I(DIR), I(0), I(0), I(0), I(RESULT)], NOTSOCK);
    program.call("sock_shutdown", &[I(DIR), I(0)], NOTSOCK);
    program.call("sock_shutdown", &[I(77), I(0)], BADF);
    program.run_as_module("the adapter ends whoever makes these calls");
}

/// A22: an exit is an exit, wherever it is asked for.
#[test]
fn an_exit_ends_it() {
    let text = "(module
        (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))
        (memory (export \"memory\") 1)
        (func (export \"_start\") (call $exit (i32.const 42)) (unreachable)))";
    assert_eq!(run_text(text, Default::default()).0, End::Exited(42));
    let text = "(module (func (export \"_start\")))";
    assert_eq!(run_text(text, Default::default()).0, End::Exited(0));
    // Without a memory nothing can be said, and nothing breaks.
    let text = "(module
        (import \"wasi_snapshot_preview1\" \"random_get\" (func $random (param i32 i32) (result i32)))
        (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))
        (func (export \"_start\") (call $exit (call $random (i32.const 0) (i32.const 1)))))";
    assert_eq!(run_text(text, Default::default()).0, End::Exited(21));
}
