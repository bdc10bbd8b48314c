//! Known agents: real ones from the npm registry, pointed at a local server that speaks their model's interface, do
//! an edit-and-test task with nothing configured; and what the command says of agents that are not there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::model_server::{ModelServer, Step};

use super::support::{Ended, Place, has, has_all};

/// Where the agents are installed that tests use, if they are.
fn installed(program: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents");
    let directory = std::env::var_os("STOCKADE_AGENTS").map_or_else(beside, PathBuf::from);
    let programs = directory.join("node_modules/.bin").canonicalize();
    let found = programs.ok().filter(|programs| programs.join(program).exists());
    let reason = format!("the agent `{program}` is not installed in target/agents");
    testing::found_or_skip(found.is_some(), &reason);
    found
}

/// A project with a mistake in it, a home with a key and the user's own settings of agents, and a model that
/// mends it.
struct Task {
    place: Place,
    server: ModelServer,
    /// Something on the host's loopback that nobody was given.
    other: TcpListener,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Task {
    fn new() -> Self {
        let place = Place::new();
        place.write("sum.py", "def add(a, b):\n    return a - b\n");
        place.write("test_sum.py", "from sum import add\nassert add(2, 3) == 5\nprint('tested')\n");
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(words).current_dir(&place.project).env_clear().env("PATH", "/usr/bin:/bin");
            git.args(["--quiet"]).env("HOME", &place.home);
            Ended::of(git.output().unwrap()).expect_code(0);
        };
        git(&["init"]);
        let own = [
            (".ssh/id_rsa", "PRIVATE-KEY"),
            (".gitconfig", "[user]\n\tname = Somebody\n\temail = somebody@example.org\n"),
            (".claude.json", "{\"own\": true}"),
            (".claude/settings.json", "{}"),
            (".codex/config.toml", "# own"),
            (".codex/auth.json", "{}"),
            (".gemini/settings.json", "{}"),
            (".config/opencode/opencode.jsonc", "{}"),
        ];
        for (file, text) in own {
            let path = place.home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let other_port = other.local_addr().unwrap().port();
        let file = place.project.join("sum.py");
        let connect = format!(
            "(: < /dev/tcp/127.0.0.1/{other_port}) 2> /dev/null && echo reached || echo refused; \
             getent hosts api.github.com || echo unknown; git config user.email; id -un || true"
        );
        let steps = [
            Step::Read(file.clone()),
            Step::Edit {
                path: file,
                old: "    return a - b".into(),
                new: "    return a + b".into(),
            },
            Step::Run("python3 -B test_sum.py".to_owned()),
            Step::Run("cat ~/.ssh/id_rsa; cat \"$REAL_HOME\"/.ssh/id_rsa".to_owned()),
            Step::Run(format!("bash -c '{connect}'")),
            Step::Run(SEARCH.to_owned()),
        ];
        let server = ModelServer::start(&steps, "The addition is mended.");
        let before = files_of(&place.home, &["project", ".local"]);
        Self { place, server, other, before }
    }

    /// Runs an agent to its end.
    fn run(&self, programs: &Path, variables: &[(&str, &str)], words: &[&str]) -> Ended {
        let mut command = self.place.stockade();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
        command.env("PATH", path).envs(variables.iter().copied()).args(words);
        Ended::of(command.output().unwrap())
    }

    /// The key is nowhere inside, nor in what stays.
    #[track_caller]
    fn expect_no_key(&self, key: &str) {
        let results = self.server.results();
        assert!(results.iter().all(|result| !result.contains(key)), "{results:?}");
        let has = |bytes: &[u8]| bytes.windows(key.len()).any(|part| part == key.as_bytes());
        for (path, bytes) in files_of(&self.place.home, &[]) {
            assert!(!has(&bytes), "{}", path.display());
        }
        let records = self.place.records();
        assert!(records.iter().any(|record| record["event"] == "model.answer"), "{records:?}");
    }

    /// The task is done, and nothing else is.
    #[track_caller]
    fn expect_done(&self, ended: &Ended) {
        ended.expect_code(0).prints("The addition is mended.");
        let results = self.server.results();
        let [read, _, tested, key, others, _] = &*results else {
            panic!("{results:?}\n{}", ended.stderr)
        };
        assert!(read.contains("return a - b"), "{read}");
        assert!(tested.contains("tested"), "{tested}");
        assert!(key.contains("No such file") && !key.contains("PRIVATE-KEY"), "{key}");
        assert!(others.contains("refused") && !others.contains("reached"), "{others}");
        assert!(others.contains("unknown") && others.contains("somebody@example.org"), "{others}");
        self.other.set_nonblocking(true).unwrap();
        assert!(self.other.accept().is_err(), "the other server was reached");
        // Its settings are its own, and those of the user are as they were.
        assert_eq!(files_of(&self.place.home, &["project", ".local"]), self.before);
        for request in self.server.requests() {
            assert!(!request.to_string().contains("PRIVATE-KEY"), "{request}");
        }
    }
}

/// Prints the keys of these tests wherever a program of the agent finds them: in environments, command lines, files, and what a
/// program that crashes leaves. The expression does not have itself in it.
const SEARCH: &str = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cd /tmp; ulimit -c unlimited; sh -c 'kill -SEGV $$'; \
    grep -rhaoE 'sk-[a-z-]*of-the-tes[t]' /proc/[0-9]*/cmdline /proc/[0-9]*/maps /tmp /run /etc \"$HOME\" 2>/dev/null; true";

/// Every file below a directory but for some names at its top.
fn files_of(directory: &Path, without: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let entries = match fs::read_dir(directory) {
        // What overlayfs works in is closed to everybody but root, and empty.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return files,
        entries => entries.unwrap(),
    };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        if without.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_of(&path, &[]));
        } else {
            let mut bytes = Vec::new();
            fs::File::open(&path).unwrap().read_to_end(&mut bytes).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// K310, K312, V31
#[test]
fn claude_does_a_task_with_nothing_but_its_servers_address() {
    let (true, Some(programs)) = (has_all(&["git", "python3"]), installed("claude")) else {
        return;
    };
    let task = Task::new();
    let url = task.server.url();
    let variables = [("ANTHROPIC_BASE_URL", &*url), ("ANTHROPIC_API_KEY", "sk-ant-of-the-test")];
    let words = ["run", "--agent", "claude", "--", "-p", "mend the addition"];
    let ended = task.run(&programs, &variables, &words);
    task.expect_done(&ended);
    ended.says("Claude Code at").says("key from ANTHROPIC_API_KEY");
    let requests = task.server.requests();
    let of_model = |request: &&serde_json::Value| request["form"] == "messages";
    let key = |request: &serde_json::Value| request["headers"]["x-api-key"] == "sk-ant-of-the-test";
    assert!(requests.iter().filter(of_model).all(key), "{requests:?}");
    task.expect_no_key("sk-ant-of-the-test");
    // What it keeps is there the next time.
    let settings = task.place.home.join(".local/share/stockade/agents/claude/.claude");
    assert!(settings.join(".claude.json").is_file() && settings.join("projects").is_dir());
    assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o700);
}

/// K310, K312, V31
#[test]
fn codex_does_a_task_with_nothing_but_its_servers_address() {
    let (true, Some(programs)) = (has_all(&["git", "python3", "node"]), installed("codex")) else {
        return;
    };
    let task = Task::new();
    let url = format!("{}/v1", task.server.url());
    let variables = [("OPENAI_BASE_URL", &*url), ("OPENAI_API_KEY", "sk-of-the-test")];
    let words = ["run", "--agent", "codex", "--", "exec", "mend the addition"];
    let ended = task.run(&programs, &variables, &words);
    task.expect_done(&ended);
    let first = task.server.requests().remove(0);
    assert_eq!(first["headers"]["authorization"], "Bearer sk-of-the-test");
    task.expect_no_key("sk-of-the-test");
}

/// K310, K312
#[test]
fn gemini_does_a_task_with_nothing_but_its_servers_address() {
    let (true, Some(programs)) = (has_all(&["git", "python3", "node"]), installed("gemini")) else {
        return;
    };
    let task = Task::new();
    let url = task.server.url();
    let variables = [("GOOGLE_GEMINI_BASE_URL", &*url), ("GEMINI_API_KEY", "key-of-the-test")];
    let words = ["run", "--agent", "gemini", "--", "-p", "mend the addition"];
    let ended = task.run(&programs, &variables, &words);
    task.expect_done(&ended);
    let first = task.server.requests().remove(0);
    assert_eq!(first["headers"]["x-goog-api-key"], "key-of-the-test");
}

/// A program with an agent's name, which says what it was started with.
fn install_echo(place: &Place, program: &str) {
    let directory = place.home.join(".local/bin");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(program);
    fs::write(
        &path,
        "#!/bin/sh\necho \"$0\" \"$@\"\nenv\ncat \"$CLAUDE_CONFIG_DIR/.claude.json\" || :\n",
    )
    .unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// K311
#[test]
fn an_agent_that_is_not_there_says_how_to_get_it() {
    let place = Place::new();
    place.ask(["run", "--agent", "claude"]).expect_code(127).says("npm install -g");
    let unknown = place.ask(["run", "--agent", "cluade"]);
    unknown.expect_code(123).says("did you mean `--agent claude`?");
    let unknown = place.ask(["run", "--agent", "something"]);
    unknown.expect_code(123).says("`aider`, `claude`, `codex`, `gemini`, `opencode`");
    place.ask(["agent-profile", "show", "something"]).expect_code(123).says("`aider`");
    place.ask(["agent-profile", "list"]).expect_code(0).prints("npm install -g opencode-ai");
}

/// K310, K311: found off `PATH`, with what stands after `--` added to its command, its key and no other one.
#[test]
fn an_agent_gets_its_arguments_its_key_and_its_own_settings() {
    let place = Place::new();
    install_echo(&place, "claude");
    let mut command = place.stockade();
    command.env("ANTHROPIC_API_KEY", "sk-of-my-own").env("OPENAI_API_KEY", "sk-of-another");
    command.env("LANG", "C.UTF-8");
    let ended =
        Ended::of(command.args(["run", "--agent", "claude", "--", "-p", "x y"]).output().unwrap());
    ended.expect_code(0).prints("claude --permission-mode bypassPermissions -p x y");
    ended
        .prints("ANTHROPIC_API_KEY=sk-stays-outside-of-the-cage")
        .prints("ANTHROPIC_BASE_URL=http://127.0.0.1:3129")
        .prints("LANG=C.UTF-8")
        .prints("hasCompletedOnboarding");
    assert!(!ended.stdout.contains("sk-of-another") && !ended.stdout.contains("sk-of-my-own"));
    let settings = place.home.join(".local/share/stockade/agents/claude/.claude/.claude.json");
    // It is the agent's from now on.
    fs::write(&settings, "{\"later\": 1}").unwrap();
    place.ask(["run", "--agent", "claude"]).expect_code(0).prints("\"later\"");
    fs::remove_file(&settings).unwrap();
    place.ask(["run", "--agent", "claude"]).expect_code(0);
}

/// K311: its text is a policy, and the user's own agent wins over the built-in one.
#[test]
fn an_agents_text_can_be_copied_and_changed() {
    let place = Place::new();
    install_echo(&place, "codex");
    let shown = place.ask(["agent-profile", "show", "codex"]);
    shown.expect_code(0).prints("[cage.codex]").prints("[agent.codex]").prints("auth.openai.com");
    let configuration = place.home.join(".config/stockade");
    fs::create_dir_all(&configuration).unwrap();
    let settings = place.home.join(".local/share/stockade/agents/codex/.codex");
    fs::create_dir_all(settings).unwrap();
    let text = shown.stdout.replace("\"-c\", 'approval", "\"--mine\", \"-c\", 'approval");
    fs::write(configuration.join("config.toml"), text).unwrap();
    let ended = place.ask(["run", "--agent", "codex", "--", "login"]);
    ended.expect_code(0).prints("--mine").prints("login");
    assert!(!ended.stderr.contains("Codex at"), "{}", ended.stderr);
    // One of the project's own counts as far as the user's ceiling goes.
    fs::remove_file(configuration.join("config.toml")).unwrap();
    place.policy("version = 1\n[cage.c]\ncommands = [\"echo\"]\n[agent.codex]\ncage = \"c\"\ncommand = [\"echo\", \"the project's\"]\n");
    place.ask(["run", "--agent", "codex"]).expect_code(0).prints("the project's");
}

/// K312: no agent of a cage can lead the next start elsewhere by what it leaves in its settings.
#[test]
fn links_in_an_agents_settings_are_not_followed() {
    let place = Place::new();
    install_echo(&place, "claude");
    place.ask(["run", "--agent", "claude"]).expect_code(0);
    let settings = place.home.join(".local/share/stockade/agents/claude/.claude/.claude.json");
    let outside = place.outside().join("made");
    fs::remove_file(&settings).unwrap();
    std::os::unix::fs::symlink(&outside, &settings).unwrap();
    let ended = place.ask(["run", "--agent", "claude"]);
    assert_ne!(ended.code, 0, "{}", ended.stdout);
    assert!(!outside.exists());
}

/// Moves to an answer and gives it. A question that was just drawn may not listen yet.
fn choose(screen: &super::terminal::Screen, key: &str, marked: &str) {
    for _ in 0..20 {
        screen.keys(&[key]);
        if screen.shows(marked) {
            break;
        }
    }
    screen.wait_for(marked);
    screen.keys(&["Enter"]);
}

/// K310: on a terminal, as a person uses it.
#[test]
fn claude_works_on_a_terminal() {
    let programs = has_all(&["git", "python3", "tmux"]) && has("bash");
    let (true, Some(programs)) = (programs, installed("claude")) else { return };
    let task = Task::new();
    let screen = super::terminal::Screen::open(&task.place);
    let line = format!(
        "PATH={}:/usr/bin:/bin ANTHROPIC_BASE_URL={} ANTHROPIC_API_KEY=sk-ant-of-the-test \
         '{}' run --agent claude",
        programs.display(),
        task.server.url(),
        super::support::stockade_binary().display()
    );
    screen.keys(&[&line, "Enter"]);
    screen.wait_for("Do you want to use this API key?");
    choose(&screen, "Up", "❯ 1. Yes");
    screen.wait_for("Bypass Permissions mode");
    choose(&screen, "Down", "❯ 2. Yes");
    screen.wait_for("bypass permissions on");
    screen.keys(&["mend the addition"]);
    screen.keys(&["Enter"]);
    screen.wait_for("The addition is mended.");
    screen.keys(&["C-c"]);
    screen.keys(&["C-c"]);
    assert!(task.server.results().iter().any(|result| result.contains("tested")));
}
