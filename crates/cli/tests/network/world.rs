//! Two network namespaces with a cable between them: `near`, where `stockade` runs, and `far`, where
//! servers listen. Root makes them as they are, anyone else inside a user namespace of its own; the
//! machine's own network is never touched, and everything goes when the value is dropped.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::stopwatch::timed;
use super::support::{Ended, Place, has_all, is_root, slowly, stockade_binary};

/// The namespaces, their servers, and a home from which `stockade` is started.
pub(crate) struct World {
    pub(crate) place: Place,
    directory: tempfile::TempDir,
    anchor: Child,
    far: u32,
}

/// What a command came to, and how long it took while the machine went on.
pub(crate) struct Timed {
    pub(crate) ended: Ended,
    pub(crate) took: Duration,
    report: PathBuf,
}

impl World {
    /// A world, or none where a program is missing that makes one.
    pub(crate) fn new() -> Option<Self> {
        if !has_all(NEEDED) {
            return None;
        }
        let place = Place::new();
        let directory = tempfile::tempdir().unwrap();
        make_certificates(directory.path());
        make_ssh_server(directory.path());
        fs::write(directory.path().join("resolv.conf"), format!("nameserver {FAR}\n")).unwrap();
        let (anchor, far) = raise(directory.path());
        let world = Self { place, directory, anchor, far };
        world.configure("");
        fs::copy(world.authority(), world.place.project.join("ca.pem")).unwrap();
        Some(world)
    }

    /// Writes the user's configuration: the resolver of this world and these words.
    pub(crate) fn configure(&self, words: &str) {
        let directory = self.place.home.join(".config/stockade");
        fs::create_dir_all(&directory).unwrap();
        let text = format!("version = 1\n[network]\nresolvers = [\"{FAR}\"]\n{words}\n");
        fs::write(directory.join("config.toml"), text).unwrap();
    }

    /// The certificate that every server's was made with.
    pub(crate) fn authority(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A file of the servers.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A command among the servers.
    pub(crate) fn far(&self, program: &str) -> Command {
        self.enter(self.far, &[], program)
    }

    /// A command where `stockade` runs, uncaged, with a resolver that knows all names.
    pub(crate) fn uncaged(&self, program: &str) -> Command {
        let mount = format!("--mount=/proc/{}/ns/mnt", self.anchor.id());
        let directory = format!("--wd={}", self.place.project.display());
        let mut command = self.enter(self.anchor.id(), &[&mount, &directory], program);
        command.envs(trust(&self.authority()));
        command
    }

    /// Runs a line of shell uncaged.
    pub(crate) fn uncaged_shell(&self, line: &str) -> Ended {
        Ended::of(self.uncaged("sh").args(["-c", line]).output().unwrap())
    }

    /// `stockade` itself, where its host is `near`.
    pub(crate) fn stockade(&self) -> Command {
        let binary = stockade_binary();
        self.enter(self.anchor.id(), &[], binary.to_str().unwrap())
    }

    /// `stockade run` with these flags, in a cage that trusts the servers' certificates.
    pub(crate) fn run(&self, flags: &[&str], program: &[&str]) -> Timed {
        let report = self.file("report.json");
        let mut command = self.caged(flags, &report);
        command.arg("--").args(program);
        let (output, took) = timed(|| command.output().unwrap());
        Timed { ended: Ended::of(output), took, report }
    }

    /// Runs a line of shell in a cage with these destinations.
    pub(crate) fn shell(&self, allowed: &[&str], line: &str) -> Timed {
        let flags: Vec<&str> = allowed.iter().flat_map(|entry| ["--net", entry]).collect();
        self.run(&flags, &["sh", "-c", line])
    }

    /// The same without any variable that names a proxy.
    pub(crate) fn shell_without_proxy(&self, allowed: &[&str], line: &str) -> Timed {
        self.shell(allowed, &format!("unset {PROXY_VARIABLES}; {line}"))
    }

    /// `stockade run` up to the two dashes.
    pub(crate) fn caged(&self, flags: &[&str], report: &Path) -> Command {
        let mut command = self.stockade();
        command.arg("run").arg("--rw").arg(".").arg(format!("--json={}", report.display()));
        for (name, value) in trust(&self.place.project.join("ca.pem")) {
            command.args(["--env", &format!("{name}={value}")]);
        }
        command.args(flags);
        command
    }

    /// Lets a user's namespaces and all below them have so many network namespaces and no more. Those
    /// that no process is in count as well, until the kernel has freed them. Root's are the machine's.
    pub(crate) fn allow_namespaces(&mut self, most: u32) {
        let mut shell = self.anchor.stdin.as_ref().unwrap();
        writeln!(shell, "{most}").unwrap();
        let is_set = |world: &Self| {
            world.uncaged_shell(&format!("cat {MOST_NAMESPACES}")).stdout.trim() == most.to_string()
        };
        while !is_set(self) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Every line that the servers of a place wrote about what reached them.
    pub(crate) fn seen(&self, place: &str) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.file(&format!("{place}.log"))).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Forgets what reached the servers.
    pub(crate) fn forget(&self) {
        for place in ["far.log", "near.log"] {
            fs::OpenOptions::new().write(true).truncate(true).open(self.file(place)).unwrap();
        }
    }

    /// Forgets connections and datagrams, and keeps which names were asked for.
    pub(crate) fn forget_contacts(&self) {
        let names: Vec<String> = self
            .seen("far")
            .iter()
            .filter(|line| line["what"] == "dns")
            .map(|line| format!("{line}\n"))
            .collect();
        self.forget();
        fs::write(self.file("far.log"), names.concat()).unwrap();
    }

    /// Names that the far resolver was asked for.
    pub(crate) fn names_asked(&self) -> Vec<String> {
        let seen = self.seen("far").into_iter().filter(|line| line["what"] == "dns");
        seen.map(|line| line["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Connections and datagrams that reached a place, but for questions about names.
    pub(crate) fn contacts(&self, place: &str) -> Vec<serde_json::Value> {
        let contact = |line: &serde_json::Value| {
            line["what"] == "connection" || line["what"] == "datagram" || line["what"] == "request"
        };
        self.seen(place).into_iter().filter(contact).collect()
    }

    /// The machine's `nsenter` with the namespaces that this world has.
    fn enter(&self, process: u32, more: &[&str], program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{process}/ns/net"));
        if !is_root() {
            command.arg(format!("--user=/proc/{}/ns/user", self.anchor.id()));
            command.arg("--preserve-credentials");
        }
        command.args(more).arg(program);
        command
            .current_dir(&self.place.project)
            .env_clear()
            .env("HOME", &self.place.home)
            .env("XDG_STATE_HOME", self.place.state())
            .env("PATH", PATH)
            .stdin(Stdio::null());
        command
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The shell ends with its input, and takes its children along.
        drop(self.anchor.stdin.take());
        let _reaped = self.anchor.wait();
    }
}

impl Timed {
    /// What `--json` wrote.
    pub(crate) fn report(&self) -> serde_json::Value {
        serde_json::from_slice(&fs::read(&self.report).unwrap()).unwrap()
    }

    /// It did what was asked.
    #[track_caller]
    pub(crate) fn works(&self) -> &Self {
        self.ended.expect_code(0);
        self
    }

    /// It printed this.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        self.ended.prints(text);
        self
    }

    /// It failed, soon, and the report tells of this destination.
    #[track_caller]
    pub(crate) fn is_refused(&self, host: &str, port: u16) -> &Self {
        self.fails_at_once();
        let denials = self.denials();
        let told = denials.iter().any(|denial| {
            let target = denial["target"].as_str() == Some(host);
            let reason = denial["reason"].as_str().is_some_and(|reason| !reason.is_empty());
            target && reason && denial["port"].as_u64() == Some(port.into())
        });
        assert!(told, "no denial of {host}:{port} in {denials:?}\n{}", self.ended.stderr);
        self
    }

    /// It failed, soon, because a name was refused.
    #[track_caller]
    pub(crate) fn name_is_refused(&self, host: &str) -> &Self {
        self.fails_at_once();
        let denials = self.denials();
        let told = denials.iter().any(|denial| denial["target"].as_str() == Some(host));
        assert!(told, "no denial of {host} in {denials:?}\n{}", self.ended.stderr);
        self
    }

    /// It failed, and not by waiting.
    #[track_caller]
    pub(crate) fn fails_at_once(&self) -> &Self {
        let Ended { code, stdout, stderr } = &self.ended;
        assert_ne!(*code, 0, "it worked\nstdout: {stdout}\nstderr: {stderr}");
        let build_failed = [122, 123, 125].contains(code);
        assert!(!build_failed, "there was no cage\nstdout: {stdout}\nstderr: {stderr}");
        assert!(
            self.took < slowly(AT_ONCE),
            "took {:?}\nstdout: {stdout}\nstderr: {stderr}",
            self.took
        );
        self
    }

    /// What was refused.
    pub(crate) fn denials(&self) -> Vec<serde_json::Value> {
        self.report()["network"]["denials"].as_array().cloned().unwrap_or_default()
    }
}

/// A file beside the tests.
pub(crate) fn data(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&package).join("tests/network").join(name)
}

/// Variables by which clients learn whom to trust.
fn trust(authority: &Path) -> Vec<(&'static str, String)> {
    let names = [
        "SSL_CERT_FILE",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "PIP_CERT",
    ];
    names.map(|name| (name, authority.display().to_string())).to_vec()
}

fn raise(directory: &Path) -> (Child, u32) {
    let mut command = Command::new("unshare");
    if !is_root() {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        command.arg("--user").arg("--keep-caps");
        command.arg(format!("--map-user={user}")).arg(format!("--map-group={group}"));
    }
    let mut anchor = command
        .args(["--net", "--mount", "sh", "-ec", RAISE, "sh"])
        .arg(directory)
        .arg(data("servers.py"))
        .env("PATH", PATH)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(anchor.stdout.take().unwrap()).lines();
    let mut next = || lines.next().expect("the world came to an end").unwrap();
    let far = next().parse().unwrap();
    for _ in ["far", "near"] {
        assert_eq!(next(), "ready");
    }
    (anchor, far)
}

fn make_certificates(directory: &Path) {
    let openssl = |words: &str| {
        let output =
            Command::new("openssl").args(words.split(' ')).current_dir(directory).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {words}: {said}");
    };
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    openssl(&format!(
        "{new} -subj /CN=authority -keyout ca.key -out ca.pem -addext keyUsage=critical,keyCertSign"
    ));
    // Clients take no wildcard for all of a top-level name.
    let names = CERTIFIED.map(|name| format!("DNS:{name}.example")).join(",");
    openssl(&format!(
        "{new} -subj /CN=web.example -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem \
         -addext basicConstraints=critical,CA:FALSE \
         -addext subjectAltName={names},IP:{FAR},IP:{FAR6}"
    ));
}

/// An ssh server that takes one key. It knows its users by a table of its own, since the one who
/// runs the tests may stand in none.
fn make_ssh_server(directory: &Path) {
    if !Path::new(SSHD).exists() {
        return;
    }
    let shown = directory.display();
    let configuration = format!(
        "HostKey {shown}/host_key\nAuthorizedKeysFile {shown}/user_key.pub\nStrictModes no\n\
         UsePAM no\nPasswordAuthentication no\nPidFile none\nPermitRootLogin yes\n"
    );
    fs::write(directory.join("sshd_config"), configuration).unwrap();
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let accounts = format!(
        "visitor:x:{user}:{group}::{shown}:/bin/sh\nsshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
    );
    fs::write(directory.join("passwd"), accounts).unwrap();
}

/// The far side in documentation ranges, which are nobody's.
pub(crate) const FAR: &str = "203.0.113.2";
/// The same in IPv6.
pub(crate) const FAR6: &str = "2001:db8:1::2";
/// Every variable by which a client could be told of a proxy.
pub(crate) const PROXY_VARIABLES: &str =
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy";
/// Less than the shortest time that anything waits for on the way, which is the gatekeeper's for a resolver. With the
/// start of the cage and of the program a refusal takes a fraction of it on an idle machine.
const AT_ONCE: Duration = Duration::from_secs(4);
/// Names below `example` that have a certificate.
const CERTIFIED: [&str; 8] = ["web", "*.web", "other", "v4", "v6", "alias", "internal", "rebind"];
const SSHD: &str = "/usr/sbin/sshd";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
const NEEDED: &[&str] = &["openssl", "python3", "curl", "nsenter", "unshare", "mount", "ip"];

const MOST_NAMESPACES: &str = "/proc/sys/user/max_net_namespaces";
/// Makes the far namespace and the cable, gives both sides their addresses, starts the servers, and
/// ends with its standard input. Arguments are the directory and the servers' program.
const RAISE: &str = r#"
if [ -e "$1/passwd" ]; then
    mount --bind "$1/passwd" /etc/passwd
    for key in host_key user_key; do ssh-keygen -q -t ed25519 -N "" -f "$1/$key"; done
fi
# One that is not given back is found out once so many have been made.
if [ "$(id -u)" != 0 ]; then echo 60 > /proc/sys/user/max_net_namespaces; fi
ports=/proc/sys/net/ipv4/ip_unprivileged_port_start
unshare --net --mount --pid --fork --kill-child sh -ec '
    until ip link show far0 >/dev/null 2>&1; do sleep 0.01; done
    echo 0 > "$3"
    ip link set lo up
    ip address add 203.0.113.2/24 dev far0
    ip address add 10.99.0.2/24 dev far0
    ip address add 169.254.169.254/16 dev far0
    ip -6 address add 2001:db8:1::2/64 dev far0 nodad
    ip link set far0 up
    mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd
    exec python3 "$2" far "$1"' sh "$1" "$2" "$ports" </dev/null &
far=$!
trap 'kill -KILL $far $near' EXIT
trap exit HUP INT TERM
own=$(readlink /proc/self/ns/net)
while [ "$(readlink /proc/$far/ns/net)" = "$own" ]; do sleep 0.01; done
echo $far
ip link set lo up
ip link add near0 type veth peer name far0 netns $far
ip address add 203.0.113.1/24 dev near0
ip address add 10.99.0.1/24 dev near0
ip address add 169.254.0.1/16 dev near0
ip -6 address add 2001:db8:1::1/64 dev near0 nodad
ip link set near0 up
echo "$(id -g) $(id -g)" > /proc/sys/net/ipv4/ping_group_range
mount --bind "$1/resolv.conf" /etc/resolv.conf
python3 "$2" near "$1" </dev/null &
near=$!
while read -r most; do echo "$most" > /proc/sys/user/max_net_namespaces; done
"#;
