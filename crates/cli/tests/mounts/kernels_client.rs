//! What is served over 9P, mounted by the kernel's own client. Only root may mount it, and not every kernel has the
//! client: that of `cargo xtask vm` does.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Ended, Place, has_all, is_root, skip, slowly};

/// V29: a directory of the host and a tree in memory are mounted, and a script finds there what it expects of a file system.
#[test]
fn the_kernels_client_mounts_a_tree() {
    if !has_client() || !has_all(&["git", "unshare", "setpriv"]) {
        return;
    }
    let place = Place::new();
    let source = place.write("src/below", "there before\n").parent().unwrap().to_owned();
    for tree in ["dir:src", "memory:"] {
        let mut served = Served::start(&place, tree);
        let ended = served.mounted(&place, SCRIPT);
        assert_eq!(served.stop(), 0, "{tree}");
        ended.expect_code(0).prints("all of it\n");
    }
    let read = |path: &str| fs::read_to_string(source.join(path)).unwrap();
    assert_eq!(read("below"), "there before\nwritten by the client\n");
    assert_eq!(fs::read_dir(source.join("many")).unwrap().count(), MANY);
    assert!(!source.join("renamed").exists(), "it was removed");
}

/// V29: tools are used through the kernel's client as a program in a cage uses them.
#[test]
fn the_kernels_client_calls_tools() {
    if !has_client() || !has_all(&["unshare"]) {
        return;
    }
    let place = Place::new();
    place.write("notes", "one\n");
    let mut served = Served::start(&place, "tools:read,list");
    let ended = served.mounted(&place, CALLS);
    assert_eq!(served.stop(), 0);
    ended
        .expect_code(0)
        .prints("help\nlist\nread\ntools\n")
        .prints("1\tone")
        .prints("error: nothing is at `absent`");
}

/// Whether this test may mount 9P with the kernel's client. In the virtual machine it must.
fn has_client() -> bool {
    if !is_root() {
        skip("only root may mount 9P");
        return false;
    }
    // Where it is no module, or there is none, the list says so.
    let _loaded = Command::new("modprobe").args(["--quiet", "9p"]).status();
    let known = fs::read_to_string("/proc/filesystems").unwrap();
    let is_known = known.lines().any(|line| line.ends_with("\t9p"));
    if !is_known {
        let promised = std::env::var_os("STOCKADE_TEST_DELEGATED").is_some();
        assert!(!promised, "the virtual machine's kernel has no client of 9P");
        skip("this kernel has no client of 9P");
    }
    is_known
}

/// `stockade fs serve --9p`, on a socket beside the home.
struct Served {
    server: Child,
    socket: std::path::PathBuf,
}

impl Served {
    fn start(place: &Place, tree: &str) -> Self {
        let socket = place.outside().join("tree.sock");
        let mut command = place.stockade();
        command.args(["fs", "serve", "--9p"]).arg(&socket).arg(tree);
        let server = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + slowly(Duration::from_secs(20));
        while UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < deadline, "`{tree}` is not served");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { server, socket }
    }

    /// Runs a script where the tree is mounted, in a mount namespace that ends with it.
    fn mounted(&self, place: &Place, script: &str) -> Ended {
        let view = place.outside().join("view");
        fs::create_dir_all(&view).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-eu", "-c"]);
        command.arg(format!("{MOUNT}\n{script}")).arg("script").arg(&self.socket).arg(&view);
        let output = command.env("HOME", place.outside()).stdin(Stdio::null()).output();
        Ended::of(output.unwrap())
    }

    fn stop(&mut self) -> i32 {
        let process = rustix::process::Pid::from_child(&self.server);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        self.server.wait().unwrap().code().unwrap()
    }
}

const MOUNT: &str = r#"
mount -t 9p -o trans=unix,version=9p2000.L,access=user "$1" "$2"
cd "$2"
"#;

const MANY: usize = 60;

const SCRIPT: &str = r#"
fails() { if "$@" 2>/dev/null; then echo "done, and should not be: $*" >&2; exit 1; fi; }
is() { test "$1" = "$2" || { echo "\`$1\` instead of \`$2\`" >&2; exit 1; }; }

# Making, listing, reading, writing.
mkdir many
for number in $(seq 60); do echo "$number" > "many/$number"; done
is "$(ls many | wc -l)" 60
is "$(cat many/*|sort -n|tail -n 1)" 60
fails mkdir many
fails rmdir many
seq 20000 > long
is "$(wc -c < long)" 108894
is "$(sha256sum < long)" "$(seq 20000 | sha256sum)"
printf one > short; printf two >> short
is "$(cat short)" onetwo
truncate -s 4 short
is "$(cat short)" onet
printf X | dd of=short bs=1 seek=1 conv=notrunc status=none
is "$(cat short)" oXet
echo 'written by the client' >> below

# Renaming, also over what is there.
mkdir -p d/e
mv short d/e/moved
echo other > d/e/other
mv d/e/other d/e/moved
is "$(cat d/e/moved)" other
mv d renamed
fails test -e d
is "$(find renamed | sort | tr '\n' ' ')" 'renamed renamed/e renamed/e/moved '

# Links.
ln renamed/e/moved hard
is "$(stat -c %h hard)" 2
is "$(stat -c %i hard)" "$(stat -c %i renamed/e/moved)"
ln -s renamed/e/moved soft
is "$(readlink soft)" renamed/e/moved
is "$(cat soft)" other

# Modes, owners and times; whoever is not allowed to does not.
chmod 640 hard
chown 1000:1001 hard
touch -d @1000000000 hard
is "$(stat -c '%a %u %g %Y' hard)" '640 1000 1001 1000000000'
setpriv --reuid 1000 --regid 1000 --clear-groups cat hard > /dev/null
fails setpriv --reuid 1002 --regid 1002 --clear-groups cat hard
fails setpriv --reuid 1002 --regid 1002 --clear-groups touch new

# A file that is open outlives its name; a lock keeps others out.
exec 8<> long; rm long
is "$(head -c 2 <&8)" 1
exec 8<&-
flock -n hard sh -c '! flock -n hard true'

# What programs do.
git init -q repository
cd repository
echo text > f
git -c user.name=n -c user.email=e add f
git -c user.name=n -c user.email=e commit -qm m
git fsck 2>/dev/null
is "$(git status --porcelain)" ''
is "$(git show HEAD:f)" text
cd ..
tar -cf many.tar many
mkdir unpacked
tar -xf many.tar -C unpacked
diff -r many unpacked/many

rm -r renamed soft unpacked many.tar repository
is "$(stat -c %h hard)" 1
echo all of it
"#;

const CALLS: &str = r#"
ls
cat tools
ask() { exec 3<> read/run; echo "$1" >&3; cat <&3; exec 3>&-; }
ask '{"path":"notes"}'
ask '{"path":"absent"}'
"#;
