//! Components that are written for preview 2: a module that imports what they import, by the names and in the words that the
//! canonical interface has for it.

use engines::wasm::{Wasm, WasmError};
use engines::{End, World};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::program::{engines, world};

/// A component whose `run` does this. What it imports are lines of `interface function words results`.
pub(crate) fn component(imports: &str, data: &str, body: &str) -> Vec<u8> {
    let imports: String = imports.lines().filter_map(import).collect();
    let text = format!(
        "(module {imports}
           (memory (export \"memory\") 4) (global $free (mut i32) (i32.const 65536)) {data}
           (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32)
             (global.set $free (i32.and (i32.add (global.get $free) (i32.const 15)) (i32.const -16)))
             (global.get $free)
             (global.set $free (i32.add (global.get $free) (local.get 3))))
           (func $say (param $at i32) (param $length i32)
             (call $write-out (call $get-stdout) (local.get $at) (local.get $length) (i32.const 0)))
           (func $must (param $at i32) (if (i32.load8_u (local.get $at)) (then (unreachable))))
           (func (export \"wasi:cli/run@0.2.12#run\") (result i32)
             (local $a i32) (local $b i32) (local $c i32) (local $d i32) {body} (i32.const 0)))"
    );
    encode(&text)
}

/// A module with an export `run` as a component.
fn encode(text: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).unwrap();
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/wit")).unwrap();
    let of = resolve.select_world(&[package], Some("program")).unwrap();
    embed_component_metadata(&mut module, &resolve, of, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// `$name io/streams [method]output-stream.write i32,i32 -> i32`
fn import(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (name, interface, function) = (words.next()?, words.next()?, words.next()?);
    let rest: Vec<&str> = words.collect();
    let (given, returned) = match rest.as_slice() {
        [] | ["->"] => ("", ""),
        ["->", returned] => ("", *returned),
        [given] => (*given, ""),
        [given, "->", returned] => (*given, *returned),
        _ => panic!("{line}"),
    };
    let result = if returned.is_empty() { String::new() } else { format!("(result {returned})") };
    let given = given.replace(',', " ");
    Some(format!(
        "(import \"wasi:{interface}@0.2.12\" \"{function}\" (func {name} (param {given}) {result}))\n"
    ))
}

/// What every one of them can say.
pub(crate) const SAY: &str = "
    $get-stdout cli/stdout get-stdout -> i32
    $write-out io/streams [method]output-stream.blocking-write-and-flush i32,i32,i32,i32
";

/// Runs it in memory: how it ended, and what it has written.
pub(crate) fn run(bytes: &[u8], prepare: impl FnOnce(&mut World)) -> (End, Vec<u8>) {
    let (end, shown) = try_run(bytes, prepare);
    (end.unwrap(), shown)
}

pub(crate) fn try_run(
    bytes: &[u8],
    prepare: impl FnOnce(&mut World),
) -> (Result<End, WasmError>, Vec<u8>) {
    let (mut world, kept) = world(&engines().remove(0));
    prepare(&mut world);
    let wasm = Wasm::new(&world.limits).unwrap();
    let end = wasm.compile(bytes).and_then(|program| wasm.run(&program, world));
    (end, kept.0.bytes())
}
