//! Command lines with their cage around them, started by whoever likes.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::executor::Tool;
use super::support::{Ended, has, is_root, stockade_binary};

const WHERE: &str = "answer(got=args, status=[line.split()[1] for line in open('/proc/self/status')\n\
                     if line.startswith('NSpid')], names=sorted(os.listdir(home)))";

/// The caller's word for the weaker backend.
const AGREED: &[&str] = &["--backend", "bwrap"];

fn wrap(tool: &Tool, flags: &[&str]) -> Value {
    let ended = tool.ask(&[&["wrap", "@", "--json"], flags].concat());
    serde_json::from_str(&ended.expect_code(0).stdout).unwrap()
}

fn words(wrapped: &Value) -> Vec<String> {
    let argv = wrapped["argv"].as_array().unwrap();
    argv.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Starts a command line with `{}` on standard input, as any process API would.
fn start(tool: &Tool, argv: &[String]) -> Ended {
    let arguments = tool.home("arguments.json");
    std::fs::write(&arguments, "{}").unwrap();
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir("/").env_clear();
    command.env("HOME", &tool.place.home).env("XDG_STATE_HOME", tool.place.state());
    command.env("PATH", "/usr/bin:/bin").stdin(std::fs::File::open(arguments).unwrap());
    Ended::of(command.output().unwrap())
}

/// Lets strangers read the project: without a mapping of ids root's bubblewrap sees files as they do.
fn open_to_strangers(tool: &Tool) {
    use std::os::unix::fs::PermissionsExt as _;
    let place = &tool.place;
    for path in [place.home.parent().unwrap(), &place.home, &place.project] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// M9, M10: complete in itself, and the same cage as `invoke` has.
#[test]
fn a_wrapped_command_can_be_started_by_anybody() {
    let tool = Tool::new("[[capabilities]]\nname = \"fs:read\"\nhints = [\"~/notes/**\"]", WHERE);
    tool.file("notes/a", "x");
    tool.file("secret", "x");
    let wrapped = wrap(&tool, &[]);
    assert_eq!(wrapped["sandbox"]["level"], "native");
    let argv = words(&wrapped);
    assert_eq!(argv[0], stockade_binary().to_str().unwrap());
    assert_eq!(argv[1..3], ["run", "--sealed"]);
    assert_eq!(argv[4..6], ["--", "python3"]);
    let ended = start(&tool, &argv);
    let answer: Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    assert_eq!((&answer["got"], &answer["names"]), (&json!({}), &json!(["notes", "project"])));
    // The words of a person's shell are the same.
    let shell = tool.ask(&["wrap", "@"]).expect_code(0).stdout.clone();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{} </dev/null", shell.trim())]).env_clear();
    command.env("HOME", &tool.place.home).env("XDG_STATE_HOME", tool.place.state());
    Ended::of(command.output().unwrap()).expect_code(1).says("JSONDecodeError");
}

/// M9: another command of the same executor.
#[test]
fn any_command_can_be_wrapped() {
    let tool = Tool::new("", "answer()");
    let argv = words(&wrap(&tool, &["--", "sh", "-c", "echo $0 in; pwd; touch x", "cage"]));
    let ended = start(&tool, &argv);
    ended.expect_code(1).prints(&format!("cage in\n{}\n", tool.place.project.display()));
}

/// M50, M51, M52, M53, M65, M81, M84, M85, M87: `backend = "bwrap"`, agreed to, gives bubblewrap's own command line.
#[test]
fn bubblewraps_command_line_is_complete_in_itself() {
    if !has("bwrap") {
        return;
    }
    let tool = Tool::new("backend = \"bwrap\"", WHERE);
    open_to_strangers(&tool);
    let wrapped = wrap(&tool, AGREED);
    assert_eq!(wrapped["sandbox"]["level"], "bwrap");
    let argv = words(&wrapped);
    let program = argv.iter().position(|word| word.ends_with("/bwrap")).unwrap();
    assert_eq!(program == 0, !is_root(), "{argv:?}");
    for flag in [
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-pid",
        "--unshare-cgroup-try",
        "--unshare-net",
        "--die-with-parent",
        "--new-session",
    ] {
        assert!(argv.iter().any(|word| word == flag), "no {flag}");
    }
    let code = tool.place.project.to_str().unwrap();
    assert!(argv.windows(3).any(|words| words == ["--ro-bind", code, code]));
    // Nothing in it is a number that somebody would have to open first.
    for flag in ["--seccomp", "--ro-bind-data", "--bind-data", "--file", "--args", "--info-fd"] {
        assert!(!argv.iter().any(|word| word == flag), "{flag}");
    }
    let notes = wrapped["notes"].to_string();
    for part in
        ["no filter of system calls", "no file that it made is set aside", "are compared when"]
    {
        assert!(notes.contains(part), "no {part:?} in {notes}");
    }
    let ended = start(&tool, &argv);
    let answer: Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    assert_eq!(answer["got"], json!({}));
    // The whole of it by `invoke`, which keeps the time.
    let called = tool.call_with(AGREED, "{}");
    assert_eq!(
        (&called.answer["ok"], &called.answer["sandbox"]["level"]),
        (&json!(true), &json!("bwrap"))
    );
    assert!(called.answer["notes"].to_string().contains("no filter of system calls"));
}

/// M20, M83: the system first, then what is private, granted and always on; writing by `--bind`.
#[test]
fn grants_come_after_the_system_and_before_the_namespaces() {
    if !has("bwrap") || is_root() {
        return;
    }
    let lines =
        "backend = \"bwrap\"\n[[capabilities]]\nname = \"fs:write\"\nhints = [\"~/out/**\"]";
    let tool = Tool::new(lines, "open(os.path.join(home, 'out/new'), 'w').write('x'); answer()");
    let argv = words(&wrap(&tool, AGREED));
    let out = tool.home("out");
    let at = |flag: &[&str]| argv.windows(flag.len()).position(|words| words == flag).unwrap();
    let path = out.to_str().unwrap();
    let order = [
        at(&["--proc", "/proc"]),
        at(&["--tmpfs", "/tmp"]),
        at(&["--bind", path, path]),
        at(&["--unshare-net"]),
        at(&["--unshare-user"]),
    ];
    assert!(order.is_sorted(), "{order:?} in {argv:?}");
    start(&tool, &argv).expect_code(0);
    assert!(out.join("new").exists());
}

/// T62: the time is kept for bubblewrap too, and nothing is left.
#[test]
fn bubblewraps_executors_end_as_well() {
    if !has("bwrap") {
        return;
    }
    let lines = "backend = \"bwrap\"\ntimeout_sec = 1";
    let tool = Tool::new(lines, "os.fork(); time.sleep(1000)");
    open_to_strangers(&tool);
    tool.call_with(AGREED, "{}").fails("timeout", 124);
    super::executor::assert_gone(tool.place.project.to_str().unwrap());
}

/// M82: bubblewrap cannot hold a cage to hosts; with the whole network it has this machine's.
#[test]
fn bubblewrap_is_refused_what_it_cannot_hold() {
    if !has("bwrap") {
        return;
    }
    let hosts = "backend = \"bwrap\"\n[[capabilities]]\nname = \"network:https\"\nhints = [\"example.com\"]";
    let tool = Tool::new(hosts, "answer()");
    tool.ask(&[&["wrap", "@"], AGREED].concat()).expect_code(125).says("network destinations");
    let memory = Tool::new("backend = \"bwrap\"\nmemory = \"64M\"", "answer()");
    memory.ask(&[&["wrap", "@"], AGREED].concat()).expect_code(125).says("limits");
}

/// M74, M87: a manifest asks for the weaker backend, and only the caller gives it.
#[test]
fn a_manifest_alone_does_not_choose_bubblewrap() {
    let tool = Tool::new("backend = \"bwrap\"", "answer(ran=True)");
    tool.call("{}").fails("refused", 125).says("--backend bwrap");
    tool.ask(&["wrap", "@"]).expect_code(125).says("--backend bwrap");
    tool.ask(&["check", "--manifest", tool.manifest.to_str().unwrap()])
        .expect_code(0)
        .says("--backend bwrap");
    // The stronger one needs no agreement beyond the word.
    assert_eq!(tool.call_with(&["--backend", "native"], "{}").result()["ran"], true);
}

/// M55, M91, M92: bubblewrap is looked for anew each time; a native cage does without it.
#[test]
fn the_native_cage_needs_no_bubblewrap() {
    if !has("unshare") {
        return;
    }
    let tool = Tool::new("", "answer()");
    let wrap =
        format!("'{}' wrap '{}' --json", stockade_binary().display(), tool.manifest.display());
    let Some(ended) = without_bwrap(&tool, &format!("{wrap} --backend bwrap -- true")) else {
        return;
    };
    ended.expect_code(122).says("bubblewrap is not installed");
    // Root of a user namespace alone, as this is for others, gets no native cage.
    if is_root() {
        let ended = without_bwrap(&tool, &format!("{wrap} -- true"));
        ended.unwrap().expect_code(0).prints("\"level\": \"native\"");
    }
    if has("bwrap") {
        let ended = tool.ask(&["wrap", "@", "--backend", "bwrap", "--", "true"]);
        ended.expect_code(0).prints("bwrap");
    }
}

/// M77: `wrap_command_no_bwrap_passa_invariato` of the document: where bubblewrap is demanded and absent,
/// and the caller allows it, the very same list comes back with the level.
#[test]
fn wrap_command_no_bwrap_passes_unchanged() {
    if !has("unshare") {
        return;
    }
    let tool = Tool::new("", "answer()");
    let line = format!(
        "'{}' wrap '{}' --json --backend bwrap --allow-unsandboxed -- true 'a b' --flag",
        stockade_binary().display(),
        tool.manifest.display()
    );
    let Some(ended) = without_bwrap(&tool, &line) else { return };
    let wrapped: Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    assert_eq!(wrapped["argv"], json!(["true", "a b", "--flag"]));
    assert_eq!(wrapped["sandbox"]["level"], "none");
    assert_eq!(wrapped["sandbox"]["reason"], "bubblewrap is not installed");
}

/// Runs a line of shell where no bubblewrap is installed, if the machine lets a test do so.
fn without_bwrap(tool: &Tool, line: &str) -> Option<Ended> {
    let places = "/usr/bin/bwrap /usr/local/bin/bwrap";
    let hide = format!(
        "for p in {places}; do if [ -e $p ]; then mount --bind /dev/null $p || exit 99; fi; done"
    );
    let mut command = Command::new("unshare");
    let own = if is_root() { "-m" } else { "-rm" };
    command.args([own, "--propagation", "private", "sh", "-c", &format!("{hide}; {line}")]);
    command.current_dir("/").env_clear().env("HOME", &tool.place.home);
    command.env("XDG_STATE_HOME", tool.place.state()).env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let is_possible = output.status.code() != Some(99)
        && !String::from_utf8_lossy(&output.stderr).contains("unshare:");
    if !is_possible {
        super::support::skip("bubblewrap cannot be hidden here");
    }
    is_possible.then(|| Ended::of(output))
}
