//! A real server of Azure's store, `azurite-blob` of npm, which `STOCKADE_AZURE_SERVER` can name.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The secret of the other tests, as the key of an account.
pub(crate) const KEY: &str = "YS1zZWNyZXQtdGhhdC1ub2JvZHktcmVhZHM=";

/// Makes the container, signed by somebody else's code than ours, and writes the query by which others may do all.
const MAKE: &str = r#"
import base64, email.utils, hashlib, hmac, sys, urllib.parse, urllib.request
address, key = sys.argv[1:]
date = email.utils.formatdate(usegmt=True)
text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-08-06\n/account/account/container\nrestype:container"
digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
signature = base64.b64encode(digest).decode()
headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Authorization": "SharedKey account:" + signature}
request = urllib.request.Request(f"http://{address}/account/container?restype=container", method="PUT", headers=headers)
urllib.request.urlopen(request)
may = {"sp": "rwdlac", "ss": "b", "srt": "sco", "st": "", "se": "2099-01-01T00:00:00Z", "sip": "", "spr": "", "sv": "2018-11-09"}
text = "".join(line + "\n" for line in ["account", *may.values()])
digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
may = {name: value for name, value in may.items() if value} | {"sig": base64.b64encode(digest).decode()}
print(urllib.parse.urlencode(may), end="")
"#;

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// The query of a request that may do all, of somebody who has no key.
    pub(crate) access: String,
    _place: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// The one that is named, or that is installed; where everything is required one is installed for the tests alone.
fn program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("STOCKADE_AZURE_SERVER") {
        return Some(program.into());
    }
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("azure-server");
    let program = own.join("node_modules/.bin/azurite-blob");
    if program.exists() {
        return Some(program);
    }
    if let Some(program) = testing::find("azurite-blob") {
        return Some(program);
    }
    if !testing::requires_everything() || !testing::has("npm") {
        testing::skip("no Azure server: set STOCKADE_AZURE_SERVER to an `azurite-blob`");
        return None;
    }
    // Several tests want it at once: one installs it, and it is there when it has its name.
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let one_at_a_time = std::fs::File::create(own.with_extension("lock")).unwrap();
    one_at_a_time.lock().unwrap();
    if program.exists() {
        return Some(program);
    }
    let unfinished = own.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(&unfinished).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "azurite@3"]);
    assert!(npm.current_dir(&unfinished).stdout(Stdio::null()).status().unwrap().success());
    let _other_was_faster = std::fs::rename(&unfinished, &own);
    Some(program)
}

/// Starts one with a container, if there is one.
pub(crate) fn start() -> Option<Server> {
    let program = program()?;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args([
        "--silent",
        "--disableTelemetry",
        "--skipApiVersionCheck",
        "--blobHost",
        "127.0.0.1",
    ]);
    command.args(["--blobPort", &address.port().to_string(), "--location"]).arg(place.path());
    command.env("AZURITE_ACCOUNTS", format!("account:{KEY}"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let access = String::new();
    let mut server = Server { child, address: address.to_string(), access, _place: place };
    let deadline = Instant::now() + testing::slowly(Duration::from_secs(60));
    while std::net::TcpStream::connect(address).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut make = Command::new("python3");
    make.args(["-c", MAKE, &server.address, KEY]);
    let made = make.stderr(Stdio::inherit()).output().unwrap();
    assert!(made.status.success(), "the container cannot be made");
    server.access = String::from_utf8(made.stdout).unwrap();
    Some(server)
}
