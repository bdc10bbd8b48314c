//! What links, protected names and a manifest's own place would give an executor, and do not.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::executor::{Called, Tool};

/// Does what its argument says, in a shell.
const SHELL: &str = "\
ran = subprocess.run(['sh', '-c', args['do']], capture_output=True, text=True)
answer(out=ran.stdout, code=ran.returncode)";

fn writes(hints: &str) -> String {
    format!("[[capabilities]]\nname = \"fs:write\"\nhints = [{hints}]\n")
}

const ARGUMENTS: &str = "[args.path]\ntype = \"path\"\n[args.do]\ntype = \"content\"\n";

/// T61, M37: a link that an earlier call has left in a root gives a later call nothing.
#[test]
fn a_planted_link_gives_nothing() {
    let two = "[args.mode]\ntype = \"text\"\n[args.do]\ntype = \"content\"\n\
         [[capabilities]]\nname = \"fs:write\"\nhints = [\"~/notes/**\"]\n\
         when = { arg = \"mode\", in = [\"plant\"] }\n\
         [[capabilities]]\nname = \"fs:write\"\nhints = [\"~/notes/x\"]\n\
         when = { arg = \"mode\", in = [\"steal\"] }\n";
    let tool = Tool::new(two, SHELL);
    tool.directory("notes");
    tool.file("Documents/tax", "private");
    let plant = json!({ "mode": "plant", "do": "ln -s ../Documents ~/notes/x" });
    assert_eq!(tool.call(&plant.to_string()).result()["code"], 0);
    let steal = json!({ "mode": "steal", "do": "cat ~/notes/x/tax; echo evil > ~/notes/x/new" });
    for flags in [&[][..], &["--grant", "fs:write:~/notes"]] {
        let called = tool.call_with(flags, &steal.to_string());
        called.fails("refused", 125).says("goes through a link");
    }
    assert!(!tool.home("Documents/new").exists());
}

/// T61: a root that is replaced by a link after its command was wrapped is not followed.
#[test]
fn a_root_that_became_a_link_is_refused() {
    let tool = Tool::new(&writes("\"~/notes/**\""), "answer(names=os.listdir(home + '/notes'))");
    tool.directory("notes");
    tool.file("Documents/tax", "private");
    let wrapped = tool.ask(&["wrap", "@", "--json"]);
    let wrapped: serde_json::Value = serde_json::from_str(&wrapped.stdout).unwrap();
    let words: Vec<String> = serde_json::from_value(wrapped["argv"].clone()).unwrap();
    fs::rename(tool.home("notes"), tool.home("old")).unwrap();
    symlink("Documents", tool.home("notes")).unwrap();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let ended = tool.ask(&words);
    assert!(ended.stderr.contains("goes through a link"), "{}", ended.stderr);
    assert!(!ended.stdout.contains("tax"), "{}", ended.stdout);
}

/// T68, M37: what the host runs is not written to, whether the manifest or an argument names it.
#[test]
fn what_the_host_runs_stays_as_it_is() {
    let tool = Tool::new(&writes("\"~/.bashrc\""), SHELL);
    tool.file(".bashrc", "# own\n");
    let evil = json!({ "do": "echo evil >> ~/.bashrc" }).to_string();
    for flags in [&[][..], &["--grant", "declared"]] {
        tool.call_with(flags, &evil).fails("refused", 125).says("every new shell");
    }
    assert_eq!(fs::read_to_string(tool.home(".bashrc")).unwrap(), "# own\n");
    let named = tool.call_with(&["--grant", "fs:write:~/.bashrc"], &evil);
    assert_eq!(named.result()["code"], 0);

    let lines = [ARGUMENTS, &writes("\"~/proj/**\", \"arg:path\"")].concat();
    let tool = Tool::new(&lines, SHELL);
    tool.directory("proj/.git/hooks");
    symlink(".git/hooks", tool.home("proj/link")).unwrap();
    for (path, said) in [("~/proj/.git/hooks", "`path`"), ("~/proj/link", "runs code on the host")]
    {
        let arguments =
            json!({ "path": path, "do": "echo evil > ~/proj/.git/hooks/post-checkout" });
        let called = tool.call(&arguments.to_string());
        called.fails("refused", 125).says(said);
        assert!(!called.answer.to_string().contains("hooks"), "{:#}", called.answer);
    }
    assert!(!tool.home("proj/.git/hooks/post-checkout").exists());
}

/// M35, T59, T61: a call that is refused makes nothing, here or where a link leads.
#[test]
fn a_refused_call_makes_no_directory() {
    let lines = [ARGUMENTS, &writes("\"~/notes/**\", \"arg:path\"")].concat();
    let tool = Tool::new(&lines, SHELL);
    tool.directory("notes");
    tool.directory("private");
    symlink("..", tool.home("notes/up")).unwrap();
    for path in ["~/notes/up/private/made/", "~/notes/made/"] {
        let called = tool.call(&json!({ "path": path, "do": "true" }).to_string());
        called.fails("refused", 125).says("`path`");
        assert!(!called.answer.to_string().contains("made"), "{:#}", called.answer);
    }
    assert!(!tool.home("private/made").exists() && !tool.home("notes/made").exists());
    let through = Tool::new(&writes("\"~/notes/up/private/made/**\""), SHELL);
    through.directory("notes");
    through.directory("private");
    symlink("..", through.home("notes/up")).unwrap();
    through.call(r#"{"do": "true"}"#).fails("refused", 125).says("a link");
    assert!(!through.home("private/made").exists());
}

/// M27: an executor changes its code through no link and no argument.
#[test]
fn no_link_leads_to_the_executors_own_code() {
    let tool = Tool::new(&writes("\"~/notes/code\""), SHELL);
    tool.directory("notes");
    let code = tool.manifest.with_file_name("tool.py");
    symlink(&code, tool.home("notes/code")).unwrap();
    let evil = json!({ "do": format!("echo '#evil' >> {}", code.display()) }).to_string();
    tool.call(&evil).fails("refused", 125).says("through a link");
    assert!(!fs::read_to_string(&code).unwrap().contains("#evil"));
}

/// M27: what a manifest declares cannot be changed by the executor, wherever its code lies.
#[test]
fn an_executor_does_not_rewrite_its_manifest() {
    let tool = Tool::new("", SHELL);
    let own = tool.directory("executors/one");
    tool.file(
        "executors/one/code/tool.py",
        &fs::read_to_string(tool.place.project.join("tool.py")).unwrap(),
    );
    let text = format!("name = \"one\"\ncode = \"code/tool.py\"\n{}", writes("\"~/executors/**\""));
    let manifest = tool.file("executors/one/manifest.toml", &text);
    let call = |words: &str| {
        let arguments = json!({ "do": words }).to_string();
        let words = ["invoke", manifest.to_str().unwrap(), "--args", &arguments];
        Called::of(&mut tool.command(&words))
    };
    assert_ne!(call("echo >> ~/executors/one/manifest.toml").result()["code"], 0);
    assert_eq!(call("echo > ~/executors/beside").result()["code"], 0);
    assert_eq!(fs::read_to_string(&manifest).unwrap(), text);
    // Inside its own directory nothing is given at all.
    fs::write(&manifest, text.replace("~/executors/**", "~/executors/one/data/**")).unwrap();
    fs::create_dir(own.join("data")).unwrap();
    call("true").fails("refused", 125).says("its own code");
}

/// M25: a manifest shows no directory but its own by calling a file in it its code.
#[test]
fn code_elsewhere_shows_nothing() {
    let tool = Tool::new("", "answer()");
    let file = tool.file("Documents/tax", "private");
    let text = format!("code = \"{}\"\ninterpreter = [\"cat\"]\n", file.display());
    fs::write(&tool.manifest, text).unwrap();
    let ended = tool.ask(&["invoke", "@", "--args", "{}"]);
    assert!(!ended.stdout.contains("private"), "{}", ended.stdout);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains("directory of the manifest"));
}
