//! The virtual machine itself: starts qemu, lets the guest's output through, and takes the guest's
//! answer from a port of its own. A machine that does not come up, or that works for too long, is
//! ended; what its kernel and its systemd said is kept in a file.

use std::fs;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::image::Image;
use super::orders::Answer;
use crate::command::{Failure, start_failure, succeeds};
use crate::deadline;
use crate::suite::Totals;

/// The program that emulates the machine.
pub(super) const EMULATOR: &str = "qemu-system-x86_64";

/// A machine that can be booted.
pub(super) struct Machine<'a> {
    pub(super) image: &'a Image,
    /// The second disk.
    pub(super) payload: PathBuf,
    /// Where the console's text goes.
    pub(super) log: PathBuf,
}

/// How the work inside ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Tested(Totals),
    Ended(i32),
}

impl Machine<'_> {
    /// Boots the machine, waits until it has done its work, and reads its answer.
    pub(super) fn work(&self, longest: Duration) -> Result<Outcome, Failure> {
        let directory = tempfile::Builder::new().prefix("xtask-vm-").tempdir()?;
        let answer = directory.path().join("answer");
        let mut command = self.emulator("stockade-work.service");
        command.arg("-serial").arg(format!("file:{}", comma_doubled(&self.log)));
        command.args(["-device", "virtio-serial"]);
        command.args(["-chardev", "stdio,id=output,signal=off"]);
        command.args(["-device", "virtserialport,chardev=output,name=stockade.output"]);
        command.arg("-chardev").arg(format!("file,id=answer,path={}", comma_doubled(&answer)));
        command.args(["-device", "virtserialport,chardev=answer,name=stockade.answer"]);
        // The port would count as closed, and the guest wait, if the emulator met an end of input.
        command.stdin(Stdio::piped()).process_group(0);
        println!("booting; the console's text is in {}", self.log.display());
        let started = Instant::now();
        let mut child = command.spawn().map_err(|source| start_failure(&command, source))?;
        let watched = watch(&mut child, longest, &answer);
        if child.try_wait()?.is_none() {
            deadline::end(&mut child)?;
        }
        println!("the machine ran for {} s", started.elapsed().as_secs());
        watched.and_then(|()| read_answer(&answer)).inspect_err(|_| self.show_end_of_log())
    }

    /// Boots the machine with its console on this terminal.
    pub(super) fn console(&self) -> Result<bool, Failure> {
        println!(
            "a shell will come in a minute or two; `exit` ends the machine, Ctrl-A X kills it"
        );
        let mut command = self.emulator("stockade-console.service");
        // The emulator's monitor is what Ctrl-A leads to.
        succeeds(command.args(["-serial", "mon:stdio"]))
    }

    /// What all machines have in common. Both disks are opened for reading alone; what the guest
    /// writes goes to files that have no name.
    fn emulator(&self, unit: &str) -> Command {
        // It dies with us however we end, and leaves room for whoever works on this machine.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nice", "-n", "10", EMULATOR]);
        command.args(["-nodefaults", "-no-user-config", "-display", "none"]);
        command.args(["-no-reboot", "-machine", "q35", "-smp", "2", "-m", "4G", "-nic", "none"]);
        command.args(match has_hardware_support() {
            true => ["-accel", "kvm", "-cpu", "host"],
            false => ["-accel", EMULATION, "-cpu", EMULATED_PROCESSOR],
        });
        command.arg("-kernel").arg(self.image.kernel());
        command.arg("-initrd").arg(self.image.first_file_system());
        for disk in [&self.image.disk(), &self.payload] {
            let disk = comma_doubled(disk);
            command.arg("-drive").arg(format!("file={disk},if=virtio,format=raw,snapshot=on"));
        }
        let slowness = if has_hardware_support() { 1 } else { EMULATED_SLOWNESS };
        command.arg("-append").arg(format!(
            "{KERNEL_PARAMETERS} systemd.wants={unit} {SLOWNESS_PARAMETER}={slowness}"
        ));
        command
    }

    fn show_end_of_log(&self) {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default();
        eprintln!("the console said at last:\n{}", end.join("\n"));
    }
}

/// Waits until the machine is switched off. The guest's first act is to write to the port of its
/// answer: one that has not come so far in time will not come at all.
fn watch(child: &mut Child, longest: Duration, answer: &Path) -> Result<(), Failure> {
    let boot = LONGEST_BOOT.min(longest);
    if deadline::wait(child, boot)?.is_some() {
        return Ok(());
    }
    let begun = fs::metadata(answer).is_ok_and(|metadata| metadata.len() > 0);
    let left = if begun { longest.saturating_sub(boot) } else { Duration::ZERO };
    match deadline::wait(child, left)? {
        Some(_) => Ok(()),
        None => {
            let seconds = (boot + left).as_secs();
            Err(Failure::Time { program: EMULATOR.to_owned(), seconds })
        }
    }
}

fn read_answer(path: &Path) -> Result<Outcome, Failure> {
    let text = fs::read_to_string(path)?;
    let answer = text.lines().find(|line| line.starts_with('{')).ok_or_else(|| {
        Failure::Usage("the machine was switched off before its work was done".to_owned())
    })?;
    Ok(match serde_json::from_str(answer)? {
        Answer::Ended(status) => Outcome::Ended(status),
        Answer::Tested(passed, failed, skipped) => {
            Outcome::Tested(Totals { passed, failed, skipped })
        }
    })
}

/// Whether the processor can run the guest's instructions itself. That the kernel offers it is not
/// enough: without the processor's part it interprets the guest, and fails at newer instructions.
fn has_hardware_support() -> bool {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut flags = processor.lines().filter(|line| line.starts_with("flags"));
    let has = |line: &str| line.split_whitespace().any(|flag| flag == "vmx" || flag == "svm");
    flags.next().is_some_and(has)
        && OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
}

/// A path as a value among the emulator's options, which commas separate.
fn comma_doubled(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Both processors take turns in one thread. A kernel patches its own branches while it runs, and relies
/// on what a real processor does when an instruction that it is about to carry out changes; emulated
/// processors that run at the same time meet half of the change, and the kernel panics.
const EMULATION: &str = "tcg,thread=single,tb-size=512";
/// Everything that can be emulated but cmpxchg16b: emulators before version 8 leave the flags that it
/// does not set to chance. The kernel allocates memory with it, and an interrupt that comes right then
/// returns with those flags, which ends in a double fault once in some boots. A kernel that does not
/// find it has another way.
const EMULATED_PROCESSOR: &str = "max,cx16=off";
/// No login prompts: the console is for messages, or for the shell.
const KERNEL_PARAMETERS: &str =
    "console=ttyS0 root=/dev/vda rw panic=-1 quiet systemd.getty_auto=no systemd.show_status=yes";
/// The kernel's parameter that tells the guest how many times longer tests have to wait for things.
pub(super) const SLOWNESS_PARAMETER: &str = "stockade.slowness";
/// What that is where every instruction is emulated. Most take twenty times as long, but most of what
/// tests wait for is not the processor.
const EMULATED_SLOWNESS: u32 = 5;
/// The longest until the guest's work begins.
const LONGEST_BOOT: Duration = Duration::from_secs(6 * 60);
/// How much of the console's text is shown if the machine failed.
const LOG_LINES: usize = 30;
