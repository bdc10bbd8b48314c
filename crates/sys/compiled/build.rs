//! Compiles the scripts that a guest of JavaScript finds in place to the engine's own code, which the crate embeds: to read
//! their text takes ten times as long as all that a small program does. Never touches anything outside the build directory.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rquickjs::module::WriteOptions;
use rquickjs::{CatchResultExt as _, Context, Module, Runtime};

/// The crate that runs guests has them.
const SCRIPTS: &str = "../../engines/src/javascript/js";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCRIPTS}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?);
    let context = Context::full(&Runtime::new()?)?;
    let mut list = String::from("&[\n");
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(SCRIPTS)? {
        scripts.push(entry?.path());
    }
    scripts.sort();
    for script in scripts {
        let name =
            script.file_stem().and_then(|name| name.to_str()).ok_or("a script has no name")?;
        std::fs::write(out.join(name), compile(&context, name, &script)?)?;
        writeln!(list, "    ({name:?}, include_bytes!({:?})),", out.join(name))?;
    }
    list.push(']');
    std::fs::write(out.join("scripts.rs"), list)?;
    Ok(())
}

fn compile(context: &Context, name: &str, script: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    // A function becomes what a module exports: of modules alone the engine gives its code.
    let source = format!("export default {}", std::fs::read_to_string(script)?);
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), format!("node:internal/{name}"), source);
        let module = module.catch(&ctx).map_err(|error| format!("{name}: {error}"))?;
        Ok(module.write(WriteOptions { strip_source: true, ..WriteOptions::default() })?)
    })
}
