//! Configuration as Git writes it, as people write it, and as nobody should. Starts no Git.

use super::*;

/// One line for each thing that is named; `?` marks what only might be a path.
fn check(text: &str) -> Vec<String> {
    let line = |named: &Named| {
        let (kind, path, mark) = match named {
            Named::Configuration(path) => ("configuration", path, ""),
            Named::WorkTree(path) => ("work tree", path, ""),
            Named::Hooks(path) => ("hooks", path, ""),
            Named::LongObjectNames => return "long names of objects".to_owned(),
            Named::Program { path, is_surely_path: true } => ("program", path, ""),
            Named::Program { path, is_surely_path: false } => ("program", path, "?"),
        };
        format!("{kind} {}{mark}", String::from_utf8_lossy(path))
    };
    named(text.as_bytes()).iter().map(line).collect()
}

/// K227, T6: every way to write a setting that Git accepts.
#[test]
fn the_syntax_is_gits() {
    for (text, expected) in [
        ("[core]\n\thooksPath = tools/hooks\n", "hooks tools/hooks"),
        ("[CORE] HOOKSPATH=a", "hooks a"),
        ("\u{feff}[core]\r\n\thookspath = a b \r\n", "hooks a b"),
        ("[core]\nhooksPath = \"a b \" # why\n", "hooks a b "),
        ("[core]\nhooksPath = a;b\n", "hooks a"),
        ("[core]\nhooksPath = a\\\nb\n", "hooks ab"),
        ("[core]\nhooksPath = \"a\\\"b\\\\\"\n", "hooks a\"b\\"),
        ("[core]\n# hooksPath = x\n; hooksPath = y\nhooksPath = z", "hooks z"),
        ("[a]\nb\n[core]\nbare\nhooksPath = z", "hooks z"),
        ("[core\nhooksPath = z\n[core]\nhooksPath = y", "hooks z,hooks y"),
        ("!?\n[core]\n=x\nhooksPath = z", "hooks z"),
        ("[include]\n\tpath = ../shared.conf\n", "configuration ../shared.conf"),
        ("[includeIf \"gitdir:~/x]y\\\"/\"]\npath = c", "configuration c"),
        ("[includeIf.gitdir] path = c", "configuration c"),
        ("[core]\nworktree = ../../../lib", "work tree ../../../lib"),
        ("[extensions]\nobjectFormat = sha256", "long names of objects"),
        ("[extensions]\nobjectFormat = sha1", ""),
        ("[remote \"origin\"]\nurl = ../other", ""),
        ("[user]\nname = hooks/path", ""),
        ("[alias]\nx = !./run.sh", "program ./run.sh"),
        ("[alias]\nx = log ./run.sh", ""),
        ("[core]\nhooksPath\n", ""),
        ("", ""),
        ("[", ""),
        ("[core]\nhooksPath = \"never closed", "hooks never closed"),
    ] {
        assert_eq!(check(text).join(","), expected, "{text:?}");
    }
}

/// K227, T6: files of the project among the words of a command.
#[test]
fn commands_are_taken_apart() {
    for (setting, expected) in [
        ("[core] fsmonitor = true", ""),
        ("[core] fsmonitor = tools/watch", "tools/watch"),
        ("[core] fsmonitor = my tools/watch", "my tools/watch,tools/watch"),
        ("[gpg] program = gpg2", ""),
        ("[gpg \"ssh\"] program = ./sign", "./sign"),
        ("[filter \"x\"] clean = sh clean.sh %f", "clean.sh"),
        ("[filter \"lfs\"] process = git-lfs filter-process", "filter-process?"),
        ("[filter \"x\"] smudge = a --config=b/c", "a --config=b/c,b/c"),
        ("[diff \"x\"] textconv = \"'my tools/t' -x\"", "'my tools/t' -x,my tools/t,tools/t"),
        ("[merge \"x\"] driver = $TOP/m %O", "$TOP/m %O,m"),
        ("[merge \"x\"] driver = \\\"$(git top)\\\"/m.sh", "\"$(git top)\"/m.sh,top?,m.sh"),
        ("[merge \"x\"] driver = ${TOP}/t/m", "${TOP}/t/m,t/m"),
        ("[credential \"https://x\"] helper = !./helper", "./helper"),
        ("[submodule \"x\"] update = checkout", ""),
        ("[remote \"x\"] url = ext::./tunnel %S", "./tunnel %S,./tunnel"),
        ("[pager] log = ./p", "./p"),
        ("[sendemail \"x\"] tocmd = ./t/to", "./t/to"),
        ("[core] fsmonitor = \"$HOME/t/m\"", "$HOME/t/m,~/t/m,t/m"),
        ("[core] fsmonitor = ${HOME}/t/m", "${HOME}/t/m,~/t/m,t/m"),
    ] {
        let found = check(setting).join(",");
        assert_eq!(found.replace("program ", ""), expected, "{setting}");
    }
}
