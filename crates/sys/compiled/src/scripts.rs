//! The scripts that a guest of JavaScript finds in place, which the build has compiled. There are no others, and nobody can
//! give one from elsewhere.

use rquickjs::{Ctx, Error, Function, Module, Result};

/// Each with its code, as the build script has written it.
const SCRIPTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/scripts.rs"));

/// What a script of this name is: a function.
///
/// # Errors
///
/// If there is no such script, or the engine has no memory for it.
pub fn script<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    let found = SCRIPTS.iter().find(|(of, _)| *of == name);
    let (_, code) = found.ok_or_else(|| Error::new_loading(name))?;
    // SAFETY: `load` takes only what `Module::write` has returned. The build script of this very crate has written these bytes
    // with the same version of the engine, for the same kind of processor, and they are embedded in the program: nobody can have changed them.
    let module = unsafe { Module::load(ctx.clone(), code) }?;
    let (module, _has_run) = module.eval()?;
    module.get("default")
}
