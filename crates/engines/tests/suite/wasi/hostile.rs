//! Modules that mean harm: each is ended by the limit that it reaches, or refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engines::wasm::{Wasm, WasmError};
use engines::{End, GuestLimits, Limit};

use crate::program::*;

fn limits() -> GuestLimits {
    GuestLimits {
        max_memory: 16 << 20,
        max_stack: 256 << 10,
        max_table_elements: 10_000,
        max_cpu: Some(Duration::from_millis(200)),
        ..GuestLimits::default()
    }
}

/// A25: an endless loop ends within a tenth of a second of its limit.
#[test]
fn an_endless_loop_ends() {
    for body in [
        "(loop $again (br $again))",
        "(loop $again (drop (memory.grow (i32.const 1))) (br $again))",
        "(loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $again))",
    ] {
        let text =
            format!("(module (memory (export \"memory\") 1) (func (export \"_start\") {body}))");
        let begun = Instant::now();
        let (end, _) = run_text(&text, limits());
        let passed = begun.elapsed();
        assert_eq!(end, End::Reached(Limit::Cpu), "{body}");
        assert!(passed >= Duration::from_millis(200), "{passed:?}");
        assert!(passed < testing::slowly(Duration::from_secs(5)), "{passed:?}");
    }
}

/// A25: so does one that calls, which is asked for its time too.
#[test]
fn an_endless_loop_of_calls_ends() {
    let text = "(module
        (import \"wasi_snapshot_preview1\" \"random_get\" (func $random (param i32 i32) (result i32)))
        (memory (export \"memory\") 200)
        (func (export \"_start\")
          (loop $again (drop (call $random (i32.const 0) (i32.const 10000000))) (br $again))))";
    let (end, _) = run_text(text, limits());
    assert_eq!(end, End::Reached(Limit::Cpu));
}

/// A25: recursion ends at the stack's limit.
#[test]
fn endless_recursion_ends() {
    let text = "(module (func $again (call $again)) (func (export \"_start\") (call $again)))";
    assert_eq!(run_text(text, limits()).0, End::Reached(Limit::Stack));
    let text = "(module (func $again (param i64 i64 i64 i64) (result i64)
        (i64.add (call $again (i64.const 1) (local.get 0) (local.get 1) (local.get 2)) (local.get 3)))
        (func (export \"_start\") (drop (call $again (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))))";
    assert_eq!(run_text(text, limits()).0, End::Reached(Limit::Stack));
}

/// A25: memory is refused as by a machine that has no more, and a module that fails of it is told why.
#[test]
fn memory_and_tables_are_bounded() {
    let text = "(module (memory (export \"memory\") 1) (func (export \"_start\")
        (if (i32.ne (memory.grow (i32.const 100)) (i32.const 1)) (then (unreachable)))
        (if (i32.ne (memory.grow (i32.const 1000)) (i32.const -1)) (then (unreachable)))
        (unreachable)))";
    let (end, _) = run_text(text, limits());
    assert!(matches!(end, End::Failed { after: Some(Limit::Memory), .. }), "{end:?}");
    // More than there may be from the beginning.
    let text = "(module (memory (export \"memory\") 1000) (func (export \"_start\")))";
    assert_eq!(run_text(text, limits()).0, End::Reached(Limit::Memory));
    let text = "(module (table 20000 funcref) (func (export \"_start\")))";
    assert_eq!(run_text(text, limits()).0, End::Reached(Limit::TableElements));
    let text = "(module (table 1 funcref) (func (export \"_start\")
        (if (i32.ne (table.grow (ref.null func) (i32.const 20000)) (i32.const -1)) (then (unreachable)))))";
    assert_eq!(run_text(text, limits()).0, End::Exited(0));
}

/// A21, A25: a million files are more than there may be; a module that makes them is told so and goes on, and whoever uses the
/// same files afterwards can.
#[test]
fn files_are_bounded() {
    let most = vfs::Limits { max_inodes: 600, ..vfs::Limits::default() };
    let engine: Arc<dyn vfs::Engine> =
        Arc::new(vfs::Memory::new(&vfs::Caller::root(), 0o755, most));
    let mut program = Program::new();
    program.raw("(local $count i32)");
    let ([path, length], [into, _]) = (program.text("aaaa"), program.text([0; 4]));
    let (I(path), I(length), I(into)) = (path, length, into) else { unreachable!() };
    let letter = |at: u32| {
        let place = path + at;
        format!(
            "(i32.store8 (i32.const {place}) (i32.add (i32.const 97)
               (i32.and (i32.shr_u (local.get $count) (i32.const {})) (i32.const 15))))",
            4 * at
        )
    };
    let letters: String = (0..4).map(letter).collect();
    program.raw(&format!(
        "(block $refused (loop $again {letters}
           (global.set $got (call $path_open (i32.const {DIR}) (i32.const 0) (i32.const {path}) (i32.const {length})
             (i32.const {CREATE}) (i64.const {EVERY_RIGHT}) (i64.const 0) (i32.const 0) (i32.const {into})))
           (br_if $refused (global.get $got))
           (drop (call $fd_close (i32.load (i32.const {into}))))
           (local.set $count (i32.add (local.get $count) (i32.const 1)))
           (br_if $again (i32.lt_u (local.get $count) (i32.const 1000000)))))
         (i32.store (i32.const {RESULT}) (local.get $count))
         (i32.store (i32.const {}) (global.get $got))",
        RESULT + 4
    ));
    program.show(RESULT, 8);
    let named: Named = ("memory", engine, None);
    let (world, kept) = world(&named);
    let files = world.files.clone();
    let wasm = Wasm::new(&world.limits).unwrap();
    let end = wasm.run(&wasm.compile(&program.bytes(Form::Module)).unwrap(), world).unwrap();
    assert_eq!(end, End::Exited(0));
    let told = kept.0.bytes();
    let number = |at: usize| u32::from_le_bytes(told[at..at + 4].try_into().unwrap());
    assert!((500..600).contains(&number(0)) && number(4) == NOSPC, "{} {}", number(0), number(4));
    files.remove(&caller(), vfs::At::Root, b"/work/aaaa", vfs::Removal::File).unwrap();
    files.write_file(&caller(), b"/work/neighbour", b"1").unwrap();
}

/// A25: what a fault of the module is called, and that nothing else is ended by it.
#[test]
fn faults_are_the_modules_own() {
    for (body, words) in [
        ("(unreachable)", "unreachable"),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "divide by zero"),
        ("(drop (i32.load (i32.const 100000000)))", "out of bounds"),
        ("(call_indirect (i32.const 0))", "uninitialized element"),
    ] {
        let text = format!(
            "(module (memory (export \"memory\") 1) (table 1 funcref) (func (export \"_start\") {body}))"
        );
        let (end, _) = run_text(&text, limits());
        let End::Failed { message, after: None } = end else { panic!("{end:?}") };
        assert!(message.contains(words), "{message}");
    }
}

/// A1: nothing can be imported but the calls of WASI.
#[test]
fn what_is_not_there_cannot_be_imported() {
    let engine = engines().remove(0);
    let wasm = Wasm::new(&limits()).unwrap();
    for text in [
        "(module (import \"env\" \"system\" (func)) (func (export \"_start\")))",
        "(module (import \"wasi_snapshot_preview1\" \"fd_read\" (func)) (func (export \"_start\")))",
        "(module (import \"wasi_unstable\" \"fd_close\" (func (param i32) (result i32))) (func (export \"_start\")))",
    ] {
        let module = wasm.compile(&wat::parse_str(text).unwrap()).unwrap();
        let refused = wasm.run(&module, world(&engine).0);
        assert!(matches!(refused, Err(WasmError::Link(_))), "{refused:?}");
    }
    let module = wasm.compile(&wat::parse_str("(module)").unwrap()).unwrap();
    assert!(matches!(wasm.run(&module, world(&engine).0), Err(WasmError::NoStart)));
}

/// A25: bytes that are no module are refused, wherever they were cut or changed.
#[test]
fn malformed_modules_are_refused() {
    let mut program = Program::new();
    program.open("file", CREATE, 0);
    let bytes = program.bytes(Form::Module);
    let wasm = Wasm::new(&limits()).unwrap();
    let cut = |length: usize| wasm.compile(&bytes[..length]).is_err();
    // Cut between two sections it is a shorter module.
    let refused = (0..bytes.len()).filter(|length| cut(*length)).count();
    assert!(refused > bytes.len() * 9 / 10, "{refused} of {}", bytes.len());
    let mut changed = bytes.clone();
    for index in (8..bytes.len()).step_by(101) {
        changed[index] ^= 0x55;
        // Whatever it is now: it is compiled or refused, and this process goes on.
        let _either = wasm.compile(&changed);
        changed[index] = bytes[index];
    }
    assert!(wasm.compile(b"(module)").is_err());
}
