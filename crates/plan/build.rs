//! Compiles the system call lists into filters, as constants that the crate embeds. Uses the very
//! sources of the crate, so that there is one reader and one assembler. Never touches anything
//! outside the build directory.

#[path = "src/seccomp/arch.rs"]
#[allow(dead_code, unreachable_pub, reason = "the crate uses more of it than the build does")]
mod arch;
#[path = "src/seccomp/assemble.rs"]
mod assemble;
#[path = "src/seccomp/instruction.rs"]
#[allow(dead_code, unreachable_pub, reason = "the crate uses more of it than the build does")]
mod instruction;
#[path = "src/seccomp/list.rs"]
mod list;

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use arch::Arch;
use assemble::{Variant, assemble};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=profiles");
    println!("cargo::rerun-if-changed=src/seccomp");
    let mut source = String::new();
    let with_notify = (Variant::WithNotify, "with_notify");
    let without_notify = (Variant::WithoutNotify, "without_notify");
    let both = vec![with_notify, without_notify];
    // Nobody listens for what the gatekeeper is refused.
    let watched = vec![with_notify];
    // A watching filter is a profile's own, with the watched calls behind it.
    let profiles: [(&str, &[&str], Vec<_>); 14] = [
        ("default", &["default"], both.clone()),
        ("relaxed", &["relaxed"], both),
        ("default_writes", &["default", "watch_writes"], watched.clone()),
        ("relaxed_writes", &["relaxed", "watch_writes"], watched.clone()),
        ("default_lookups", &["default", "watch_lookups"], watched.clone()),
        ("relaxed_lookups", &["relaxed", "watch_lookups"], watched),
        ("gatekeeper", &["gatekeeper"], vec![without_notify]),
        ("observer", &["observer"], vec![without_notify]),
        ("child", &["child"], vec![without_notify]),
        ("offline_child", &["child", "offline"], vec![without_notify]),
        ("remote_server", &["file_server"], vec![without_notify]),
        ("store_server", &["file_server", "file_server_store"], vec![without_notify]),
        ("layer_server", &["file_server", "file_server_layers"], vec![without_notify]),
        ("dialer", &["dialer"], vec![without_notify]),
    ];
    for (profile, lists, variants) in profiles {
        let file = format!("profiles/{}.list", lists.join("+"));
        let mut text = String::new();
        for list in lists {
            text.push_str(&std::fs::read_to_string(format!("profiles/{list}.list"))?);
        }
        let rules = list::parse(&text).map_err(|error| format!("{file}, {error}"))?;
        for arch in Arch::ALL {
            for (variant, suffix) in &variants {
                let program =
                    assemble(&rules, arch, *variant).map_err(|error| format!("{file}, {error}"))?;
                let name = format!("{profile}_{}_{suffix}", arch.name()).to_uppercase();
                writeln!(source, "const {name}: &[Instruction] = &[")?;
                for instruction in program {
                    let instruction::Instruction { code, jt, jf, k } = instruction;
                    writeln!(source, "    Instruction::new({code:#x}, {jt}, {jf}, {k:#x}),")?;
                }
                writeln!(source, "];")?;
            }
        }
    }
    let directory = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    std::fs::write(Path::new(&directory).join("programs.rs"), source)?;
    Ok(())
}
