//! Three network namespaces: `near`, where `stockade` runs, `far`, where the servers are, and
//! `inner`, which reaches far through near's NAT as a container would. All of it goes with the value;
//! the machine's own network is never touched.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The namespaces, their servers, and a project with this program in it.
pub(crate) struct World {
    anchor: Child,
    far: u32,
    inner: u32,
    directory: tempfile::TempDir,
    stockade: PathBuf,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Near,
    Far,
    Inner,
}

impl World {
    /// Makes the namespaces and starts the servers.
    pub(crate) fn raise(stockade: &Path) -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("home/project"))?;
        std::fs::create_dir_all(at("home/.config/stockade"))?;
        std::fs::write(at("home/.config/stockade/config.toml"), CONFIGURATION)?;
        std::fs::copy(std::env::current_exe()?, at("home/project").join(PROGRAM))?;
        // As an installation does: what a linker has just written starts slower than it ever will for a user.
        std::fs::copy(stockade, at("stockade"))?;
        let stockade = at("stockade");
        let mut command = Command::new("unshare");
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        if !user.is_root() {
            command.args(["--user", "--keep-caps"]);
            command.arg(format!("--map-user={user}")).arg(format!("--map-group={group}"));
        }
        command.args(["--net", "--mount", "sh", "-ec", RAISE, "sh"]);
        let anchor = command
            .arg(at("home/project").join(PROGRAM))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut world = Self { anchor, far: 0, inner: 0, directory, stockade };
        let output = world.anchor.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut lines = BufReader::new(output).lines();
        let mut next = || lines.next().unwrap_or(Err(io::ErrorKind::UnexpectedEof.into()));
        world.far = next()?.parse().map_err(io::Error::other)?;
        world.inner = next()?.parse().map_err(io::Error::other)?;
        while next()? != "ready" {}
        Ok(world)
    }

    /// A command in a place.
    pub(crate) fn enter(&self, place: Place, program: &Path) -> Command {
        let process = match place {
            Place::Near => self.anchor.id(),
            Place::Far => self.far,
            Place::Inner => self.inner,
        };
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{process}/ns/net"));
        if !rustix::process::geteuid().is_root() {
            command.arg(format!("--user=/proc/{}/ns/user", self.anchor.id()));
            command.arg("--preserve-credentials");
        }
        command.arg(program).current_dir(self.project()).env("HOME", self.home());
        command.env_remove("XDG_CONFIG_HOME").env("XDG_STATE_HOME", self.home().join("state"));
        command.stdin(Stdio::null());
        command
    }

    /// `stockade run` in near with these flags, up to the program.
    pub(crate) fn caged(&self, flags: &[&str]) -> Command {
        let mut command = self.enter(Place::Near, &self.stockade);
        command.args(["run", "--quiet", "--ro", "."]).args(flags).arg("--");
        command
    }

    /// This program, as a cage finds it.
    pub(crate) fn program(&self) -> PathBuf {
        self.project().join(PROGRAM)
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.home().join("project")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.anchor.stdin.take());
        let _reaped = self.anchor.wait();
    }
}

/// Whether a program is installed.
pub(crate) fn installed(program: &str) -> bool {
    let directories = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
    directories.iter().any(|directory| Path::new(directory).join(program).exists())
}

/// The far side's address.
pub(crate) const FAR: &str = "203.0.113.2";
/// The far side's name.
pub(crate) const NAME: &str = "bench.example";
const PROGRAM: &str = "bench";
const CONFIGURATION: &str = "version = 1\n[network]\nresolvers = [\"203.0.113.2\"]\n";

/// Prints the processes that hold far and inner, then `ready`; ends with its standard input.
const RAISE: &str = r#"
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
holders=
trap 'kill -KILL $holders' EXIT
trap exit HUP INT TERM
own=$(readlink /proc/self/ns/net)
begin() {
    unshare --net --pid --fork --kill-child sh -ec "$1" sh "$2" </dev/null &
    holders="$holders $!"
    while [ "$(readlink /proc/$!/ns/net)" = "$own" ]; do sleep 0.01; done
    echo $!
}
begin 'echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
    echo 65000 > /proc/sys/net/core/somaxconn
    until ip link show far0 >/dev/null 2>&1; do sleep 0.01; done
    ip link set lo up
    ip address add 203.0.113.2/24 dev far0
    ip link set far0 up
    ulimit -n $(ulimit -H -n)
    exec "$1" __serve' "$1"
far=${holders##* }
begin 'echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse
    until ip link show inner0 >/dev/null 2>&1; do sleep 0.01; done
    ip link set lo up
    ip address add 10.98.0.2/24 dev inner0
    ip link set inner0 up
    ip route add default via 10.98.0.1
    exec sleep infinity' "$1"
inner=${holders##* }
ip link set lo up
# Short connections use up the ports of one address; without reuse the search for a free one is measured.
echo '10000 65000' > /proc/sys/net/ipv4/ip_local_port_range
echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse
echo 1 > /proc/sys/net/ipv4/ip_forward
ip link add near0 type veth peer name far0 netns $far
ip link add near1 type veth peer name inner0 netns $inner
ip address add 203.0.113.1/24 dev near0
ip address add 10.98.0.1/24 dev near1
ip link set near0 up
ip link set near1 up
if command -v nft >/dev/null; then
    nft 'add table ip bench; add chain ip bench out { type nat hook postrouting priority 100; };
         add rule ip bench out oifname "near0" ip saddr 10.98.0.0/24 masquerade'
fi
"$1" __relay </dev/null & holders="$holders $!"
if command -v microsocks >/dev/null; then
    microsocks -i 127.0.0.1 -p 1081 >/dev/null 2>&1 </dev/null & holders="$holders $!"
fi
if command -v dnsmasq >/dev/null; then
    dnsmasq --keep-in-foreground --no-resolv --no-hosts --server=203.0.113.2 --port=5300 \
        --listen-address=127.0.0.1 --bind-interfaces --conf-file=/dev/null --pid-file= \
        --user="$(id -un 2>/dev/null)" >/dev/null 2>&1 </dev/null & holders="$holders $!"
fi
read -r end
"#;
