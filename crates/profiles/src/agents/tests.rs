//! Agents on fixture hosts: where they are found, what they get, and that every text is a policy.

use super::{AGENTS, Agent, NotAvailable, known_agent};
use crate::tests::Fixture;

/// An agent, whose two texts the parser has taken as the same rules.
fn agent(fixture: &Fixture, name: &str) -> Agent {
    let host = fixture.host();
    let agent = known_agent(name).unwrap().on(&host).unwrap();
    let place = policy::Place {
        project: host.project.clone(),
        home: host.home.clone(),
        own_state: host.own_state.clone(),
    };
    let read = |text: &str| {
        let read = policy::text::parse_user(name, text.as_bytes(), &place);
        read.unwrap_or_else(|errors| {
            panic!("{text}\n{}", errors.render(policy::text::Style::Plain))
        })
    };
    let (shown, rules) = (read(&agent.text), read(&agent.rules));
    assert_eq!(shown.agents[name].command, agent.command);
    let policy::Cage::Enabled(policy) = &shown.cages[name] else { panic!("{}", agent.text) };
    let profile = policy::Policy::closed(name).with_user_flags(&rules.profiles[name].rules);
    let paths = |policy: &policy::Policy| {
        policy.fs.iter().map(|rule| (rule.path.clone(), rule.access)).collect::<Vec<_>>()
    };
    assert_eq!(paths(policy), paths(&profile), "{}", agent.text);
    assert!(
        policy.env.keys().eq(profile.env.keys())
            && policy.net.allow.keys().eq(profile.net.allow.keys())
    );
    agent
}

fn has(text: &str, line: &str) -> bool {
    text.lines().any(|known| known.trim() == line)
}

/// A package of npm with a program, as it lies below a prefix.
fn npm_package(fixture: &Fixture, prefix: &str, package: &str, program: &str) {
    fixture.program(&format!("{prefix}/lib/node_modules/{package}/bin/program.js"));
    fixture.program(&format!("{prefix}/bin/node"));
    let target = format!("../lib/node_modules/{package}/bin/program.js");
    fixture.link(&format!("{prefix}/bin/{program}"), &target);
}

/// K311
#[test]
fn every_agent_is_a_policy_in_an_empty_home() {
    for known in AGENTS {
        let mut fixture = Fixture::new();
        let missing = known.on(&fixture.host()).unwrap_err();
        let NotAvailable::NotInstalled { install, .. } = missing else { panic!("{missing}") };
        assert_eq!(install, known.install);
        fixture.program(&format!("programs/{}", known.program));
        fixture.search(&["programs"]);
        let agent = agent(&fixture, known.name);
        assert!(agent.text.contains("= \".\" }"), "{}", agent.text);
        assert!(agent.log_in.is_some());
        for directory in &agent.settings.directories {
            assert!(directory.is_within(&agent.settings.directory));
        }
        // Nothing of the user's own settings of that agent.
        for own in ["~/.claude", "~/.codex", "~/.gemini", "~/.config", "~/.aider"] {
            assert!(!agent.text.contains(own), "{}", agent.text);
        }
    }
}

/// K311
#[test]
fn agents_are_found_where_installers_put_them() {
    let cases: &[(&str, &str, &str)] = &[
        ("home/.nvm/versions/node/v22.11.0", "@openai/codex", "codex"),
        (
            "home/.local/share/fnm/node-versions/v20.1.0/installation",
            "@google/gemini-cli",
            "gemini",
        ),
        ("home/.npm-global", "@openai/codex", "codex"),
        ("home/tools/npm", "@anthropic-ai/claude-code", "claude"),
        ("system/usr/local", "@openai/codex", "codex"),
    ];
    for (prefix, package, program) in cases {
        let fixture = Fixture::new();
        fixture.write("home/.npmrc", "prefix=~/tools/npm\n");
        npm_package(&fixture, prefix, package, program);
        let agent = agent(&fixture, program);
        let found = fixture.path(&format!("{prefix}/bin/{program}"));
        assert_eq!(agent.command[0], found, "{}", agent.text);
        // Its interpreter comes with it.
        let programs = fixture.path(&format!("{prefix}/bin"));
        let search = agent.text.lines().find(|line| line.starts_with("PATH = ")).unwrap();
        assert!(search.contains(&programs), "{}", agent.text);
    }
}

/// K311: of several versions the latest is meant.
#[test]
fn the_latest_version_counts() {
    let fixture = Fixture::new();
    for version in ["v9.9.0", "v22.1.0", "v18.20.4"] {
        npm_package(
            &fixture,
            &format!("home/.nvm/versions/node/{version}"),
            "@openai/codex",
            "codex",
        );
    }
    assert!(agent(&fixture, "codex").command[0].contains("v22.1.0"));
}

/// K311
#[test]
fn an_environment_of_python_is_shown_with_its_interpreter() {
    let fixture = Fixture::new();
    let environment = "home/.local/share/pipx/venvs/aider-chat";
    fixture.program(&format!("{environment}/bin/aider"));
    let interpreter = fixture.path("home/.pyenv/versions/3.12.1/bin");
    fixture.program("home/.pyenv/versions/3.12.1/bin/python3.12");
    fixture.write(&format!("{environment}/pyvenv.cfg"), &format!("home = {interpreter}\n"));
    fixture.link("home/.local/bin/aider", "../share/pipx/venvs/aider-chat/bin/aider");
    let agent = agent(&fixture, "aider");
    assert!(has(&agent.text, "{ ro = \"~/.local/share/pipx\" },"), "{}", agent.text);
    assert!(has(&agent.text, "{ ro = \"~/.pyenv\" },"), "{}", agent.text);
}

/// K311
#[test]
fn a_program_of_its_own_installer_is_shown_alone() {
    let fixture = Fixture::new();
    fixture.program("home/.local/share/claude/versions/2.1.0");
    fixture
        .link("home/.local/bin/claude", &fixture.path("home/.local/share/claude/versions/2.1.0"));
    let claude = agent(&fixture, "claude");
    assert!(claude.text.contains("~/.local/share/claude/versions/2.1.0"), "{}", claude.text);
    let fixture = Fixture::new();
    fixture.program("home/.opencode/bin/opencode");
    fixture.write("home/.opencode/auth.json", "{}");
    let opencode = agent(&fixture, "opencode");
    assert!(!has(&opencode.text, "{ ro = \"~/.opencode\" },"), "{}", opencode.text);
}

/// K311: a program that the project brings is not what the user means.
#[test]
fn a_program_of_the_project_is_not_taken() {
    let mut fixture = Fixture::new();
    fixture.program("home/project/node_modules/.bin/claude");
    fixture.search(&["home/project/node_modules/.bin"]);
    assert!(known_agent("claude").unwrap().on(&fixture.host()).is_err());
    // Nor a directory of programs that leads there.
    fixture.link("home/.local/bin", &fixture.path("home/project/node_modules/.bin"));
    assert!(known_agent("claude").unwrap().on(&fixture.host()).is_err());
}

/// K313, V31: the key stays outside, and so does its host; there is no log-in.
#[test]
fn a_key_brings_the_model_service_and_no_log_in() {
    let mut fixture = Fixture::new();
    fixture.program("home/.local/bin/claude");
    let without = agent(&fixture, "claude").text;
    assert!(has(&without, "\"platform.claude.com:443\","), "{without}");
    assert!(!without.contains("ANTHROPIC_API_KEY"), "{without}");
    fixture.set("ANTHROPIC_API_KEY", "sk-ant-very-secret");
    let with = agent(&fixture, "claude");
    assert!(has(&with.text, "\"model\","), "{}", with.text);
    assert!(!with.text.contains("platform.claude.com") && with.log_in.is_none());
    assert!(!has(&with.text, "\"api.anthropic.com:443\","), "{}", with.text);
    let stands_for_it = format!("ANTHROPIC_API_KEY = \"{}\"", super::NO_KEY);
    assert!(has(&with.text, &stands_for_it), "{}", with.text);
    for text in [&with.text, &with.rules, &with.summary] {
        assert!(!text.contains("very-secret"), "{text}");
    }
}

/// K313, V31: an agent of several providers has each through the service, and no key of another one beside it.
#[test]
fn keys_of_several_providers_stay_outside() {
    for (name, bases) in [
        ("opencode", ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"]),
        ("aider", ["ANTHROPIC_API_BASE", "OPENAI_API_BASE"]),
    ] {
        let mut fixture = Fixture::new();
        fixture.program(&format!("home/.local/bin/{name}"));
        fixture.set("OPENROUTER_API_KEY", "sk-other-secret");
        assert!(has(&agent(&fixture, name).text, "OPENROUTER_API_KEY = true"));
        fixture.set("ANTHROPIC_API_KEY", "sk-ant-very-secret");
        fixture.set("OPENAI_API_KEY", "sk-very-secret");
        let text = agent(&fixture, name).text;
        assert!(has(&text, "\"model\","), "{text}");
        for (key, base) in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"].iter().zip(bases) {
            assert!(has(&text, &format!("{key} = \"{}\"", super::NO_KEY)), "{text}");
            assert!(text.contains(&format!("{base} = \"http://127.0.0.1:3129")), "{text}");
        }
        for absent in ["secret", "OPENROUTER", "api.anthropic.com", "api.openai.com"] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
    }
}

/// K313
#[test]
fn another_server_takes_the_place_of_the_models_host() {
    for (url, entry) in [
        ("http://127.0.0.1:8099", "8099,"),
        ("http://localhost:8099/v1", "8099,"),
        ("http://[::1]:8099", "8099,"),
        ("https://models.example.org/anthropic", "\"models.example.org:443\","),
        ("http://models.example.org", "\"models.example.org:80\","),
        ("https://models.example.org:8443/", "\"models.example.org:8443\","),
    ] {
        for (name, variable) in [
            ("claude", "ANTHROPIC_BASE_URL"),
            ("codex", "OPENAI_BASE_URL"),
            ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ] {
            let mut fixture = Fixture::new();
            fixture.program(&format!("home/.local/bin/{name}"));
            fixture.set(variable, url);
            let text = agent(&fixture, name).text;
            assert!(has(&text, entry), "{text}");
            assert!(has(&text, &format!("{variable} = true")), "{text}");
            for host in
                ["api.anthropic.com", "api.openai.com", "googleapis.com", "platform.claude.com"]
            {
                assert!(!text.contains(&format!("\"{host}:443\"")), "{text}");
            }
        }
    }
}

/// K313: what is no plain address is left out, and a password in one is written nowhere.
#[test]
fn an_address_with_a_password_is_not_written_down() {
    for url in [
        "http://me:hunter2@127.0.0.1:8099",
        "file:///etc/passwd",
        "127.0.0.1:8099",
        "http://:1",
        "http://a b:1/",
    ] {
        let mut fixture = Fixture::new();
        fixture.program("home/.local/bin/codex");
        fixture.set("OPENAI_BASE_URL", url);
        let agent = agent(&fixture, "codex");
        assert!(agent.text.contains("Left out"), "{}", agent.text);
        assert!(
            !agent.text.contains("hunter2") && !agent.summary.contains("hunter2"),
            "{}",
            agent.text
        );
    }
}

/// What a person reads and copies, whole.
#[test]
fn the_texts_are_as_they_were() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agents/golden");
    for name in ["claude", "codex"] {
        let mut fixture = Fixture::new();
        fixture.program(&format!("home/.local/bin/{name}"));
        fixture.set("TERM", "xterm");
        fixture.write("home/.gitconfig", "[user]\n\tname = Somebody\n\temail = a@example.org\n");
        if name == "codex" {
            fixture.set("OPENAI_API_KEY", "secret");
        }
        let text = agent(&fixture, name).text.replace(&fixture.path(""), "/fixture/");
        let file = golden.join(format!("{name}.toml"));
        if std::env::var_os("STOCKADE_UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(&golden).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&file).unwrap_or_default());
    }
}
