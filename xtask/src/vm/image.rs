//! The image, built once for each recipe and kept in the target directory. A build that was
//! interrupted leaves nothing that a later one takes for an image, and no image is ever changed:
//! machines write to an overlay that is gone with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::recipe::{FILES, Recipe};
use crate::command::Failure;
use crate::deadline;

/// The files that a machine is started from.
#[derive(Debug)]
pub(super) struct Image {
    directory: PathBuf,
}

impl Image {
    /// The image of the recipe, built if it is not there yet. Images of other recipes are removed.
    pub(super) fn of(recipe: &Recipe, project: &Path, cache: &Path) -> Result<Self, Failure> {
        let directory = cache.join(format!("image-{}", recipe.key()));
        if !directory.is_dir() {
            build(recipe, project, cache, &directory)?;
            forget_others(cache, &directory)?;
        }
        Ok(Self { directory })
    }

    /// The system's disk.
    pub(super) fn disk(&self) -> PathBuf {
        self.directory.join("root.ext4")
    }

    /// The kernel.
    pub(super) fn kernel(&self) -> PathBuf {
        self.directory.join("vmlinuz")
    }

    /// The file system with which the kernel begins.
    pub(super) fn first_file_system(&self) -> PathBuf {
        self.directory.join("initrd")
    }
}

fn build(recipe: &Recipe, project: &Path, cache: &Path, result: &Path) -> Result<(), Failure> {
    let started = Instant::now();
    println!("building the image: Debian {} and its kernel, for some minutes", recipe.release);
    fs::create_dir_all(cache)?;
    let work = tempfile::Builder::new().prefix("build-").tempdir_in(cache)?;
    let (files, output) = (work.path().join("files"), work.path().join("output"));
    fs::create_dir(&output)?;
    for (path, text) in FILES {
        let path = files.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    let mut command = bootstrap(recipe, project, &files, &output);
    deadline::succeed(&mut command, LONGEST_BUILD)?;
    let disk = output.join("root.ext4");
    // What travelled through a pipe has lost its holes: most of the disk is empty.
    let mut holes = Command::new("fallocate");
    deadline::succeed(holes.arg("--dig-holes").arg(&disk), LONGEST_STEP)?;
    fs::File::options().write(true).open(&disk)?.set_len(DISK_BYTES)?;
    let mut grow = Command::new("resize2fs");
    deadline::succeed(grow.arg(&disk).stdout(Stdio::null()), LONGEST_STEP)?;
    fs::rename(&output, result)?;
    println!("the image took {} s", started.elapsed().as_secs());
    Ok(())
}

fn bootstrap(recipe: &Recipe, project: &Path, files: &Path, output: &Path) -> Command {
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--variant=minbase", "--format=null"]);
    command.arg(format!("--include={}", recipe.packages()));
    for excluded in ["man", "doc", "locale"] {
        command.arg(format!("--dpkgopt=path-exclude=/usr/share/{excluded}/*"));
    }
    for setting in &recipe.settings {
        command.arg(format!("--aptopt={setting}"));
    }
    let mut hook = |action: String| {
        command.arg(format!("--customize-hook={action}"));
    };
    hook(format!("sync-in {} /", quoted(files)));
    hook(project.join("xtask/src/vm/finish-image").display().to_string());
    for file in ["root.ext4", "vmlinuz", "initrd"] {
        hook(format!("copy-out /run/stockade/{file} {}", quoted(output)));
    }
    hook("umount \"$1/run/stockade\"".to_owned());
    command.args([&recipe.release, "/dev/null"]).args(&recipe.sources);
    command
}

/// A path as one word for the hooks of `mmdebstrap`.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

fn forget_others(cache: &Path, kept: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(cache)? {
        let path = entry?.path();
        let is_image =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"image-"));
        if is_image && path != kept {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Room for attacks that fill a disk where nothing bounds them. It is taken when it is written to.
const DISK_BYTES: u64 = 8 << 30;
/// The longest that downloading and installing the packages may take.
const LONGEST_BUILD: Duration = Duration::from_secs(30 * 60);
/// The longest that a step may take which only works on a file.
const LONGEST_STEP: Duration = Duration::from_secs(5 * 60);
