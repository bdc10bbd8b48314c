//! Components that mean harm: handles that are not theirs or too many, memory and time, and bytes that are no component.

use std::time::{Duration, Instant};

use engines::wasm::{CodeDigest, LoadError, Wasm, WasmError, precompile};
use engines::{End, GuestKind, GuestLimits, Limit};

use crate::native::{SAY, component, run, try_run};
use crate::program::{Form, Program, engines, world};

fn limits() -> GuestLimits {
    GuestLimits {
        max_memory: 16 << 20,
        max_stack: 256 << 10,
        max_handles: 1000,
        max_cpu: Some(Duration::from_millis(200)),
        ..GuestLimits::default()
    }
}

fn run_text(imports: &str, body: &str) -> End {
    run(&component(&[SAY, imports].concat(), "", body), |world| world.limits = limits()).0
}

/// A25: a component ends at its limits as a module does, and each is named.
#[test]
fn limits_hold() {
    let begun = Instant::now();
    assert_eq!(run_text("", "(loop $again (br $again))"), End::Reached(Limit::Cpu));
    assert!(begun.elapsed() < testing::slowly(Duration::from_secs(20)), "{:?}", begun.elapsed());
    let random = "$random random/random get-random-bytes i64,i32";
    let body = "(loop $again (global.set $free (i32.const 65536))
        (call $random (i64.const 100000) (i32.const 100)) (br $again))";
    assert_eq!(run_text(random, body), End::Reached(Limit::Cpu));
    let body = "(if (i32.ne (memory.grow (i32.const 1000)) (i32.const -1)) (then (unreachable)))
        (unreachable)";
    let end = run_text("", body);
    assert!(matches!(end, End::Failed { after: Some(Limit::Memory), .. }), "{end:?}");
    // What the host would make for it is bounded too.
    let body = "(call $random (i64.const 0x7fffffffffffffff) (i32.const 100))";
    assert_eq!(run_text(random, body), End::Reached(Limit::Memory));
}

/// A25: handles are bounded, whether they are the host's or the component's own.
#[test]
fn handles_are_bounded() {
    let after = "$after clocks/monotonic-clock subscribe-duration i64 -> i32";
    let body = "(loop $again (drop (call $after (i64.const 1))) (br $again))";
    assert_eq!(run_text(after, body), End::Reached(Limit::Handles));
    // Those that are given back can be had again.
    let imports = [after, "\n$drop io/poll [resource-drop]pollable i32"].concat();
    let body = "(local.set $a (i32.const 5000))
        (loop $again
          (call $drop (call $after (i64.const 1)))
          (br_if $again (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))";
    assert_eq!(run_text(&imports, body), End::Exited(0));
    let own = "(component
        (type $r (resource (rep i32)))
        (core func $new (canon resource.new $r))
        (core module $m (import \"\" \"new\" (func $new (param i32) (result i32)))
          (func (export \"run\") (result i32)
            (loop $again (drop (call $new (i32.const 1))) (br $again)) (i32.const 0)))
        (core instance $i (instantiate $m (with \"\" (instance (export \"new\" (func $new))))))
        (func $run (result (result)) (canon lift (core func $i \"run\")))
        (instance (export \"wasi:cli/run@0.2.0\") (export \"run\" (func $run))))";
    let end = run(&wat::parse_str(own).unwrap(), |world| world.limits = limits()).0;
    assert_eq!(end, End::Reached(Limit::Handles));
}

/// A1: a handle that was dropped, that is another's or that never was ends whoever uses it.
#[test]
fn handles_are_checked() {
    let imports = "
        $after clocks/monotonic-clock subscribe-duration i64 -> i32
        $block io/poll [method]pollable.block i32
        $drop io/poll [resource-drop]pollable i32
        $poll io/poll poll i32,i32,i32
        $read io/streams [method]input-stream.read i32,i64,i32
    ";
    for body in [
        "(local.set $a (call $after (i64.const 1))) (call $drop (local.get $a)) (call $block (local.get $a))",
        "(local.set $a (call $after (i64.const 1))) (call $drop (local.get $a)) (call $drop (local.get $a))",
        "(call $read (call $after (i64.const 1)) (i64.const 1) (i32.const 100))",
        "(call $block (i32.const 77))",
        "(call $block (i32.const -1))",
        "(call $poll (i32.const 0) (i32.const 0) (i32.const 100))",
        "(call $poll (i32.const 0) (i32.const 0x7fffffff) (i32.const 100))",
        "(call $say (i32.const 0x7fffffff) (i32.const 100))",
    ] {
        let end = run_text(imports, body);
        assert!(matches!(end, End::Failed { .. }), "{body}: {end:?}");
    }
}

/// A25: bytes that are no component, parts that are more than there may be, and what is no program are refused.
#[test]
fn what_is_no_program_is_refused() {
    let bytes = component(SAY, "", "");
    let wasm = Wasm::new(&limits()).unwrap();
    let cut: Vec<usize> = (8..bytes.len()).step_by(11).collect();
    let refused = cut.iter().filter(|length| wasm.compile(&bytes[..**length]).is_err());
    assert!(refused.count() > cut.len() * 9 / 10);
    let mut changed = bytes.clone();
    for index in (8..bytes.len()).step_by(29) {
        changed[index] ^= 0x55;
        // Whatever it is now: it is compiled or refused, and this process goes on.
        let _either = wasm.compile(&changed);
        changed[index] = bytes[index];
    }
    // Components within components, deeper than anybody writes them: taken or refused too.
    let _either = wasm.compile(&nested(5_000));
    let instances = "(core instance (instantiate $m))".repeat(300);
    let many = format!(
        "(component (core module $m (func (export \"run\") (result i32) (i32.const 0))) {instances}
           (core instance $i (instantiate $m))
           (func $run (result (result)) (canon lift (core func $i \"run\")))
           (instance (export \"wasi:cli/run@0.2.0\") (export \"run\" (func $run))))"
    );
    let (end, _) = try_run(&wat::parse_str(&many).unwrap(), |_| {});
    assert!(matches!(&end, Err(WasmError::Link(why)) if why.contains("instance")), "{end:?}");
    let (end, _) = try_run(&wat::parse_str("(component)").unwrap(), |_| {});
    assert!(matches!(end, Err(WasmError::NoRun)), "{end:?}");
    let foreign = "(component (import \"host:files/open\" (instance (export \"open\" (func)))))";
    let (end, _) = try_run(&wat::parse_str(foreign).unwrap(), |_| {});
    assert!(matches!(end, Err(WasmError::Link(_))), "{end:?}");
}

/// A component in a component, and so on.
fn nested(depth: usize) -> Vec<u8> {
    let header = [&b"\0asm"[..], &[13, 0, 1, 0]].concat();
    let mut bytes = header.clone();
    for _ in 0..depth {
        let mut length = bytes.len();
        let mut outer = [&header[..], &[4]].concat();
        while length > 127 {
            outer.push(128 | u8::try_from(length & 127).unwrap());
            length >>= 7;
        }
        outer.push(u8::try_from(length).unwrap());
        outer.extend_from_slice(&bytes);
        bytes = outer;
    }
    bytes
}

/// A25: code of a component is never loaded as that of a module, nor the other way.
#[test]
fn code_is_loaded_as_what_it_is() {
    let mut program = Program::new();
    program.call("sched_yield", &[], 0);
    let (module, component) = (program.bytes(Form::Module), program.bytes(Form::Component));
    let wasm = Wasm::new(&GuestLimits::default()).unwrap();
    let kinds = [GuestKind::Module, GuestKind::Component];
    for (bytes, kind, other) in [(module, kinds[0], kinds[1]), (component, kinds[1], kinds[0])] {
        let code = precompile(&bytes).unwrap();
        let digest = CodeDigest::of(&code);
        let loaded = wasm.load(&code, digest, kind).unwrap();
        let (world, _) = world(&engines().remove(0));
        assert_eq!(wasm.run(&loaded, world).unwrap(), End::Exited(0));
        let refused = wasm.load(&code, digest, other);
        assert!(matches!(refused, Err(LoadError::Refused(_))), "{refused:?}");
        let refused = wasm.load(&code[1..], digest, kind);
        assert!(matches!(refused, Err(LoadError::Different)), "{refused:?}");
    }
}
