//! Units for systemd that run the daemon for a user or for the system. `Delegate=yes` gives it the
//! control groups below its own, so that it can hold cages to their limits without asking again.

use std::path::Path;

use crate::settings::Mode;

#[cfg(test)]
mod tests;

/// The text of a unit that starts this program.
pub fn unit(mode: Mode, program: &Path) -> String {
    let program = quoted(program);
    let (what, flags, target) = match mode {
        Mode::User => ("for this user", "", "default.target"),
        Mode::System => ("for the system", " --system", "multi-user.target"),
    };
    let directories = match mode {
        Mode::User => "",
        Mode::System => "StateDirectory=stockade\nStateDirectoryMode=0700\n",
    };
    format!(
        "[Unit]\n\
         Description=Stockade, cages {what}\n\
         Documentation=man:stockade(1)\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={program} serve{flags}\n\
         Restart=on-failure\n\
         # Cages are below this unit's own control group, and end with it.\n\
         Delegate=yes\n\
         KillMode=mixed\n\
         # Longer than programs get to end by themselves.\n\
         TimeoutStopSec=30\n\
         LimitNOFILE=1048576\n\
         OOMPolicy=continue\n\
         {directories}\
         \n\
         [Install]\n\
         WantedBy={target}\n"
    )
}

/// A path as one word of a command line (systemd.service(5)).
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let escaped = escaped.replace('$', "$$");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if text.bytes().all(is_plain) { escaped } else { format!("\"{escaped}\"") }
}
