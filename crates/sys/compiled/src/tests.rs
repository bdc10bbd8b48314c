//! Code is loaded as it was compiled, or not at all.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use wasmtime::{Config, Engine, Instance, Store};

use super::{CodeDigest, LoadError, load, script};

fn code(engine: &Engine) -> Vec<u8> {
    let text = "(module (func (export \"six\") (result i32) (i32.const 6)))";
    engine.precompile_module(&wat::parse_str(text).unwrap()).unwrap()
}

/// A25: what was compiled runs.
#[test]
fn what_was_compiled_runs() {
    let engine = Engine::default();
    let code = code(&engine);
    let module = load(&engine, &code, CodeDigest::of(&code)).unwrap();
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    let six = instance.get_typed_func::<(), i32>(&mut store, "six").unwrap();
    assert_eq!(six.call(&mut store, ()).unwrap(), 6);
}

/// A25: one bit that differs anywhere, and nothing is loaded; nor is code of another engine.
#[test]
fn what_was_changed_is_not_loaded() {
    let engine = Engine::default();
    let code = code(&engine);
    let digest = CodeDigest::of(&code);
    for at in (0..code.len()).step_by(997).chain([code.len() - 1]) {
        let mut changed = code.clone();
        changed[at] ^= 1;
        assert!(matches!(load(&engine, &changed, digest), Err(LoadError::Different)), "{at}");
    }
    assert!(matches!(load(&engine, &code[1..], digest), Err(LoadError::Different)));
    let other = Engine::new(Config::new().epoch_interruption(true)).unwrap();
    assert!(matches!(load(&other, &code, digest), Err(LoadError::Refused(_))));
    let no_code = b"no code";
    assert!(matches!(load(&engine, no_code, CodeDigest::of(no_code)), Err(LoadError::Refused(_))));
}

#[test]
fn digests_are_read_as_they_are_written() {
    let digest = CodeDigest::of(b"code");
    let digits = digest.to_string();
    assert_eq!(CodeDigest::from_digits(&digits), Some(digest));
    let upper = digits.to_uppercase();
    for wrong in [&digits[1..], "", &upper, &format!("+{}", &digits[1..])] {
        assert_eq!(CodeDigest::from_digits(wrong), None, "{wrong}");
    }
}

/// A25: a script of the build is a function, and there are no others.
#[test]
fn scripts_are_those_of_the_build() {
    let context = rquickjs::Context::full(&rquickjs::Runtime::new().unwrap()).unwrap();
    context.with(|ctx| {
        assert!(script(&ctx, "errors").is_ok() && script(&ctx, "modules").is_ok());
        for other in ["", "nothing", "errors.js", "../errors"] {
            assert!(script(&ctx, other).is_err(), "{other}");
        }
    });
}
