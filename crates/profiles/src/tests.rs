//! Profiles of fixture homes: what is shown, what is not, and that every text is a policy.

use std::path::Path;

use plan::HostPath;

use crate::{BUILT_IN, Host, known};

/// A home below a temporary directory, with a project in it.
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Self { directory, variables: Vec::new() };
        fixture.make("home/project/src");
        fixture.make("system/etc");
        fixture
    }

    pub(crate) fn path(&self, relative: &str) -> String {
        let root = self.directory.path().canonicalize().unwrap();
        root.join(relative).to_str().unwrap().to_owned()
    }

    pub(crate) fn make(&self, directory: &str) {
        std::fs::create_dir_all(self.path(directory)).unwrap();
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A program that can be started, as far as looks tell.
    pub(crate) fn program(&self, file: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(file, "#!/bin/sh\n");
        std::fs::set_permissions(self.path(file), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn link(&self, file: &str, target: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn search(&mut self, entries: &[&str]) {
        let entries: Vec<String> = entries
            .iter()
            .map(
                |entry| if entry.starts_with('/') { (*entry).to_owned() } else { self.path(entry) },
            )
            .collect();
        self.set("PATH", &entries.join(":"));
    }

    pub(crate) fn host(&self) -> Host {
        let pairs = self.variables.iter().map(|(name, value)| (name.into(), value.into()));
        let path = |relative: &str| HostPath::new(self.path(relative).as_str()).unwrap();
        Host {
            environment: pairs.collect(),
            home: Some(path("home")),
            project: path("home/project"),
            own_state: vec![path("home/.local/state/stockade")],
            system: path("system"),
        }
    }

    /// The text of a profile, which the parser has taken.
    fn text(&self, name: &str) -> String {
        let host = self.host();
        let text = known(name).unwrap().text(&host);
        let place = policy::Place {
            project: host.project.clone(),
            home: host.home.clone(),
            own_state: host.own_state.clone(),
        };
        let read = policy::text::parse_user(name, text.as_bytes(), &place);
        let document = read.unwrap_or_else(|errors| {
            panic!("{text}\n{}", errors.render(policy::text::Style::Plain))
        });
        assert!(document.profiles.contains_key(name), "{text}");
        text
    }
}

fn has(text: &str, line: &str) -> bool {
    text.lines().any(|known| known.trim() == line)
}

/// K271
#[test]
fn an_empty_home_gives_a_policy_for_the_project_alone() {
    let fixture = Fixture::new();
    for known in BUILT_IN {
        let text = fixture.text(known.name);
        assert!(text.contains("= \".\" }"), "{text}");
        assert!(!text.contains("~/"), "{text}");
    }
}

/// K270, K272
#[test]
fn tool_chains_of_the_home_are_shown_and_secrets_beside_them_are_not() {
    let mut fixture = Fixture::new();
    fixture.program("home/.cargo/bin/cargo");
    fixture.write("home/.cargo/credentials.toml", "token = 'x'");
    fixture.make("home/.rustup/toolchain/stable");
    fixture.make("home/.pyenv/versions/3.12.1");
    fixture.program("home/.pyenv/shims/python3");
    fixture.make("home/.npm");
    fixture.search(&["home/.cargo/bin", "home/.pyenv/shims", "/usr/bin"]);
    let text = fixture.text("code");
    assert!(has(&text, "{ cache = \"~/.cargo/bin\" },"), "{text}");
    assert!(has(&text, "{ cache = \"~/.rustup\" },"), "{text}");
    assert!(has(&text, "{ ro = \"~/.pyenv\" },"), "{text}");
    assert!(has(&text, "{ cache = \"~/.pyenv/shims\" },"), "{text}");
    assert!(has(&text, "{ cache = \"~/.npm\" },"), "{text}");
    assert!(has(&text, "{ cow = \".\" },") && has(&text, "home = \"kept\""), "{text}");
    assert!(!text.contains("credentials"), "{text}");
    let (cargo, shims) = (fixture.path("home/.cargo/bin"), fixture.path("home/.pyenv/shims"));
    assert!(has(&text, &format!("PATH = \"{cargo}:{shims}:/usr/bin\"")), "{text}");
}

/// K270
#[test]
fn nothing_in_the_project_decides_what_is_shown() {
    let mut fixture = Fixture::new();
    fixture.program("home/project/node_modules/.bin/npm");
    fixture.program("home/project/.venv/bin/python3");
    fixture.make("home/private/bin");
    fixture.write(
        "home/project/.venv/pyvenv.cfg",
        &format!("home = {}", fixture.path("home/private/bin")),
    );
    fixture.link("home/project/.venv/bin/evil", &fixture.path("home/private"));
    fixture.write("home/project/.npmrc", "registry=https://elsewhere.example/");
    fixture.write("home/project/.cargo/config.toml", "[registries.x]\nindex='https://x.example'");
    fixture.link("home/tools", &fixture.path("home/project"));
    fixture.search(&["home/project/node_modules/.bin", "home/project/.venv/bin", "home/tools"]);
    let text = fixture.text("code");
    assert!(!text.contains("private") && !text.contains(".example:"), "{text}");
    assert_eq!(text.matches("{ ro = ").count(), 0, "{text}");
    let (modules, venv) =
        (fixture.path("home/project/node_modules/.bin"), fixture.path("home/project/.venv/bin"));
    assert!(has(&text, &format!("PATH = \"{modules}:{venv}\"")), "{text}");
}

/// Profiles read what package clients read.
mod clients {
    use super::{Fixture, has};

    const CARGO: &str = "home/.cargo";

    fn with(programs: &[&str]) -> Fixture {
        let mut fixture = Fixture::new();
        for program in programs {
            fixture.program(&format!("home/bin/{program}"));
        }
        fixture.search(&["home/bin"]);
        fixture
    }

    /// K272: registries that a company has take the place of the public ones.
    #[test]
    fn cargo_asks_the_mirror_that_is_configured() {
        let fixture = with(&["cargo"]);
        fixture.write(
            "home/.cargo/config.toml",
            "[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = 'sparse+https://mirror.example:8443/index/'\n\
             [registries.own]\nindex = 'sparse+http://own.example/'\n",
        );
        fixture.write(
            &format!("{CARGO}/registry/index/mirror.example-0123/config.json"),
            "{\"dl\": \"https://files.example/crates\"}",
        );
        fixture.write(
            &format!("{CARGO}/registry/index/other.example-0123/config.json"),
            "{\"dl\": \"https://unrelated.example/crates\"}",
        );
        let text = fixture.text("code");
        for line in ["\"mirror.example:8443\",", "\"own.example:80\",", "\"files.example:443\","] {
            assert!(has(&text, line), "{line}: {text}");
        }
        assert_eq!(text.matches(":443\",").count(), 1, "{text}");
        assert!(has(&text, "{ ro = \"~/.cargo/config.toml\" },"), "{text}");
    }

    /// K272
    #[test]
    fn a_cargo_configuration_with_a_token_is_not_shown() {
        let fixture = with(&["cargo"]);
        for secret in ["token = 'abc'", "index = 'sparse+https://me:pw@own.example/'"] {
            fixture.write("home/.cargo/config.toml", &format!("[registries.own]\n{secret}\n"));
            let text = fixture.text("code");
            assert!(!text.contains("{ ro = \"~/.cargo/config"), "{text}");
            assert!(!text.contains("abc") && !text.contains("pw@"), "{text}");
        }
        assert!(fixture.text("code").contains("\"own.example:443\""));
    }

    /// K272
    #[test]
    fn npm_gets_its_registry_and_no_token() {
        let fixture = with(&["npm"]);
        fixture.write(
            "home/.npmrc",
            "registry=https://me:pw@mirror.example/npm/\n//mirror.example/npm/:_authToken=s3cr3t\n\
             @scope:registry=https://scope.example/\nfund=false\n",
        );
        let text = fixture.text("code");
        assert!(!text.contains("s3cr3t") && !text.contains("pw@"), "{text}");
        assert!(!text.contains("~/.npmrc\" }"), "{text}");
        assert!(has(&text, "npm_config_registry = \"https://mirror.example/npm/\""), "{text}");
        assert!(has(&text, "npm_config_fund = \"false\""), "{text}");
        assert!(
            has(&text, "\"mirror.example:443\",") && has(&text, "\"scope.example:443\","),
            "{text}"
        );
        fixture.write("home/.npmrc", "registry=https://mirror.example/\nalways-auth=false\n");
        let text = fixture.text("code");
        assert!(has(&text, "{ ro = \"~/.npmrc\" },"), "{text}");
    }

    /// K272
    #[test]
    fn pip_is_told_by_variables_what_its_configuration_says() {
        let mut fixture = with(&["python3"]);
        fixture.make("wheels");
        fixture.write("home/ca.pem", "-----BEGIN CERTIFICATE-----");
        let (wheels, authority) = (fixture.path("wheels"), fixture.path("home/ca.pem"));
        fixture.write(
            "home/.config/pip/pip.conf",
            &format!(
                "[global]\nindex-url = https://user:pw@mirror.example/simple\nextra-index-url =\n    https://second.example/simple\n    http://localhost:3141/root\n\
                 find-links = {wheels}\ncert = {authority}\ntimeout = 60\n",
            ),
        );
        fixture.set("PIP_TIMEOUT", "15");
        let text = fixture.text("code");
        assert!(!text.contains("pw@"), "{text}");
        let extra =
            "PIP_EXTRA_INDEX_URL = \"https://second.example/simple http://localhost:3141/root\"";
        for line in [
            "PIP_INDEX_URL = \"https://mirror.example/simple\"",
            extra,
            "PIP_TIMEOUT = \"15\"",
            "\"mirror.example:443\",",
            "\"second.example:443\",",
            "3141,",
            "{ ro = \"~/ca.pem\" },",
        ] {
            assert!(has(&text, line), "{line}: {text}");
        }
        assert!(has(&text, &format!("{{ ro = \"{wheels}\" }},")), "{text}");
        assert!(!text.contains("pip.conf"), "{text}");
        // A key beside the certificate stays outside.
        fixture.write("home/ca.pem", "-----BEGIN PRIVATE KEY-----");
        let text = fixture.text("code");
        assert!(!text.contains("{ ro = \"~/ca.pem\" }"), "{text}");
    }

    /// K272
    #[test]
    fn go_and_maven_ask_the_mirrors_that_are_configured() {
        let mut fixture = with(&["go", "mvn"]);
        fixture.write("home/.config/go/env", "GOSUMDB=off\nGOPROXY=https://file.example\n");
        fixture.set("GOPROXY", "https://me:pw@proxy.example/go,https://second.example|direct");
        fixture.write(
            "home/.m2/settings.xml",
            "<settings xmlns=\"http://schema.example/\"><!-- <url>http://comment.example</url> -->\
             <mirrors><mirror><url>https://maven.example/all</url></mirror></mirrors></settings>",
        );
        let text = fixture.text("code");
        assert!(
            has(&text, "GOPROXY = \"https://proxy.example/go,https://second.example|direct\""),
            "{text}"
        );
        assert!(has(&text, "GOSUMDB = \"off\""), "{text}");
        for host in ["proxy", "second", "maven"] {
            assert!(has(&text, &format!("\"{host}.example:443\",")), "{text}");
        }
        for host in ["file", "comment", "schema"] {
            assert!(!text.contains(&format!("{host}.example:")), "{text}");
        }
        assert!(has(&text, "{ ro = \"~/.m2/settings.xml\" },"), "{text}");
        fixture.write("home/.m2/settings.xml", "<password>hunter2</password>");
        assert!(!fixture.text("code").contains("{ ro = \"~/.m2"));
    }

    /// K272: who commits goes inside, what logs in does not.
    #[test]
    fn git_has_an_identity_and_no_credentials() {
        let fixture = Fixture::new();
        fixture.write(
            "home/.gitconfig",
            "[user]\n\tname = Jane Doe\n\temail = jane@example.com\n\tsigningkey = ABC\n[credential]\n\thelper = store\n\
             [url \"https://token@host.example/\"]\n\tinsteadOf = https://host.example/\n[alias]\n\tx = !sh\n",
        );
        let text = fixture.text("code");
        assert!(text.contains("\"Jane Doe\"") && text.contains("\"jane@example.com\""), "{text}");
        for secret in ["ABC", "store", "token@", "!sh"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

/// K270: what is on `PATH` is shown with what it needs, and not what lies beside it.
#[test]
fn programs_on_the_search_path_are_shown_with_what_they_need() {
    let mut fixture = Fixture::new();
    fixture.program("opt/node/bin/node");
    fixture.make("opt/node/lib/node_modules");
    fixture.program("home/.local/share/tool/run");
    fixture.make("home/.local/share/keyrings");
    fixture.link("home/.local/bin/tool", "../share/tool/run");
    fixture.write("home/.ssh/key", "secret");
    fixture.link("home/.local/bin/key", "../../.ssh/key");
    fixture.program("home/work/other/bin/deploy");
    fixture.make("home/work/other/lib");
    fixture.make("home/work/other/.git");
    fixture.search(&["opt/node/bin", "home/.local/bin", "home/work/other/bin", "home", "nowhere"]);
    fixture.set("JAVA_HOME", &fixture.path("home"));
    let text = fixture.text("code");
    let node = fixture.path("opt/node");
    for line in [
        format!("{{ ro = \"{node}\" }},"),
        "{ ro = \"~/.local/bin\" },".to_owned(),
        "{ ro = \"~/.local/share/tool/run\" },".to_owned(),
        "{ ro = \"~/work/other/bin\" },".to_owned(),
    ] {
        assert!(has(&text, &line), "{line}: {text}");
    }
    assert!(!text.contains(".ssh") && !text.contains("keyrings"), "{text}");
    let home = fixture.path("home");
    assert!(!text.contains(&format!("ro = \"{home}\"")), "{text}");
    let path = text.lines().find(|line| line.starts_with("PATH = ")).unwrap();
    assert!(!path.contains("nowhere") && !path.contains(&format!(":{home}\"")), "{path}");
}

/// K270: an entry that only this session has is shown by where it leads.
#[test]
fn an_environment_of_python_is_shown_whole() {
    let mut fixture = Fixture::new();
    fixture.write("home/envs/work/pyvenv.cfg", "home = /usr/bin");
    fixture.program("home/envs/work/bin/python3");
    fixture.search(&["home/envs/work/bin", "/usr/bin"]);
    let text = fixture.text("code");
    assert!(text.contains("= \"~/envs/work\" },"), "{text}");
}

/// K275: the policy of a project names its languages, hides its secrets, and is within its directory.
#[test]
fn a_project_begins_with_a_policy_for_what_it_is() {
    let fixture = Fixture::new();
    fixture.write("home/project/Cargo.toml", "");
    fixture.write("home/project/web/package.json", "");
    fixture.write("home/project/.env", "SECRET=1");
    fixture.write("home/project/.env.example", "SECRET=");
    fixture.write("home/project/deploy/server.pem", "");
    fixture.write("home/project/node_modules/x/.env", "");
    fixture.write("home/project/~odd.key", "");
    fixture.make("home/project/.git");
    let host = fixture.host();
    let text = crate::project_policy(&host);
    let place = policy::Place {
        project: host.project.clone(),
        home: host.home.clone(),
        own_state: host.own_state.clone(),
    };
    policy::text::parse_project("stockade.toml", text.as_bytes(), &place)
        .unwrap_or_else(|errors| panic!("{text}\n{}", errors.render(policy::text::Style::Plain)));
    assert!(text.contains("Rust (Cargo.toml), Node.js (web/package.json), Git"), "{text}");
    for hidden in [".env", "deploy/server.pem", "./~odd.key"] {
        assert!(has(&text, &format!("{{ hide = \"{hidden}\" }},")), "{hidden}: {text}");
    }
    assert!(!text.contains("example\"") && !text.contains("node_modules"), "{text}");
    assert!(text.contains("allow = [") && text.contains("stockade allow"), "{text}");
    // Without anything that asks for a host nothing has to be approved.
    let plain = Fixture::new();
    let text = crate::project_policy(&plain.host());
    assert!(!text.contains("allow"), "{text}");
}
