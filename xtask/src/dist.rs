//! `cargo xtask dist`: the release as one archive, with the program, the one that runs guests, manual pages and completions, and what comes with
//! it. The same program and commit give the same bytes: names are sorted, and times are those of the commit. Never
//! sends it anywhere.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::command::{Failure, cargo, printed_by, target_directory};

#[cfg(test)]
mod tests;

/// Builds the release, or takes a program that was built, and packs it.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<bool, Failure> {
    let target = target_directory(root)?;
    let binary = match options {
        [] => {
            let mut build = cargo(root);
            printed_by(build.args(["build", "--release", "--locked", "-p", "stockade-cli"]))?;
            // By itself, so that nothing of its engines is weighed into the other.
            let mut build = cargo(root);
            printed_by(build.args(["build", "--release", "--locked", "-p", "stockade-guest"]))?;
            target.join("release/stockade")
        }
        ["--binary", path] => PathBuf::from(path),
        _ => return Err(Failure::Usage("usage: cargo xtask dist [--binary PATH]".to_owned())),
    };
    let archive = pack(root, &binary, &target.join("dist"), seconds_of_commit(root)?)?;
    println!("{}", archive.display());
    Ok(true)
}

/// Packs a program into `DIRECTORY/stockade-VERSION-SYSTEM.tar.gz`, with `SHA256SUMS` beside it.
fn pack(root: &Path, binary: &Path, directory: &Path, seconds: u64) -> Result<PathBuf, Failure> {
    let version = printed_by(Command::new(binary).arg("--version"))?;
    let version = version.split_whitespace().last().unwrap_or("unknown").to_owned();
    let name = format!("stockade-{version}-{}-linux", std::env::consts::ARCH);
    let stage = directory.join(&name);
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    put(&stage.join("bin/stockade"), &fs::read(binary)?, 0o755)?;
    // `stockade` looks for it beside itself.
    put(&stage.join("bin").join(GUEST), &fs::read(binary.with_file_name(GUEST))?, 0o755)?;
    for document in DOCUMENTS {
        put(&stage.join(document), &fs::read(root.join(document))?, 0o644)?;
    }
    for (shell, place) in COMPLETIONS {
        let script = printed_by(Command::new(binary).args(["completions", shell]))?;
        put(&stage.join(place), script.as_bytes(), 0o644)?;
    }
    let page = printed_by(Command::new(binary).arg("man"))?;
    put(&stage.join("share/man/man1/stockade.1"), page.as_bytes(), 0o644)?;
    for command in commands(&printed_by(Command::new(binary).arg("--help"))?) {
        let page = printed_by(Command::new(binary).args(["man", &command]))?;
        let place = format!("share/man/man1/stockade-{command}.1");
        put(&stage.join(place), page.as_bytes(), 0o644)?;
    }
    let archive = directory.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.current_dir(directory).args(["--format=ustar", "--sort=name", "--numeric-owner"]);
    tar.args(["--owner=0", "--group=0", &format!("--mtime=@{seconds}")]);
    // Whatever umask the stage was made with.
    tar.arg("--mode=u=rwX,go=rX");
    // Without the time at which it was compressed.
    tar.args(["--use-compress-program=gzip -n -9", "-cf"]).arg(&archive).arg(&name);
    printed_by(&mut tar)?;
    let mut sum = String::new();
    for byte in Sha256::digest(fs::read(&archive)?) {
        let _ = write!(sum, "{byte:02x}");
    }
    fs::write(directory.join("SHA256SUMS"), format!("{sum}  {name}.tar.gz\n"))?;
    Ok(archive)
}

/// The commands that a help page lists.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with(' '));
    // A line that goes on from the one before is indented further.
    let first = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    first.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn put(path: &Path, contents: &[u8], mode: u32) -> Result<(), Failure> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, contents)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// When what is packed was committed: `SOURCE_DATE_EPOCH`, as other builds have it, or the last commit.
fn seconds_of_commit(root: &Path) -> Result<u64, Failure> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = match given {
        Some(given) => given,
        None => {
            let mut git = Command::new("git");
            printed_by(git.current_dir(root).args(["log", "-1", "--format=%ct"]))?
        }
    };
    let wrong = || Failure::Usage(format!("`{}` is not a time in seconds", text.trim()));
    text.trim().parse().map_err(|_| wrong())
}

/// The program that runs guests, built beside the other.
const GUEST: &str = "stockade-guest";
const DOCUMENTS: [&str; 5] =
    ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-APACHE", "LICENSE-MIT"];
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/stockade"),
    ("zsh", "share/zsh/site-functions/_stockade"),
    ("fish", "share/fish/vendor_completions.d/stockade.fish"),
];
