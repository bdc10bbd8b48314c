//! What lies in a project: in which languages it is written, by the files that say so, and files that
//! look like secrets. Looks at names and never at contents, three directories deep at most; follows no
//! link. What is found is hidden, or said in a text that the user reads first; nothing is shown for it.

use plan::HostPath;

use crate::host::Host;

/// A language or a package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    Rust,
    Node,
    Python,
    Go,
    Java,
    Other(&'static str),
}

impl Language {
    /// For a person.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Node => "Node.js",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::Other(name) => name,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Languages with the file that says so, relative to the project.
    pub(crate) languages: Vec<(Language, String)>,
    /// Files that look like secrets, relative to the project.
    pub(crate) secrets: Vec<String>,
    /// Whether it is a repository of Git.
    pub(crate) git: bool,
    /// Whether there is more than was looked at.
    pub(crate) more: bool,
}

/// Looks at the project.
pub(crate) fn look(host: &Host) -> Found {
    let mut found = Found {
        git: host.project.join(".git").is_ok_and(|path| host.exists(&path)),
        ..Found::default()
    };
    let mut looked = 0;
    walk(host, &host.project, "", 0, &mut looked, &mut found);
    found.languages.sort();
    found.languages.dedup_by_key(|(language, _)| *language);
    found
}

fn walk(
    host: &Host,
    directory: &HostPath,
    below: &str,
    depth: usize,
    looked: &mut usize,
    found: &mut Found,
) {
    for name in host.names(directory) {
        *looked += 1;
        if *looked > MOST_NAMES {
            found.more = true;
            return;
        }
        let Ok(path) = directory.join(&name) else { continue };
        let relative = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if host.is_link(&path) {
            continue;
        }
        if host.is_directory(&path) {
            if !SKIPPED.contains(&name.as_str()) && depth < MOST_DEPTH {
                walk(host, &path, &relative, depth + 1, looked, found);
            }
            continue;
        }
        if let Some(language) = language_of(&name) {
            found.languages.push((language, relative.clone()));
        }
        if is_secret(&name) {
            found.secrets.push(relative);
        }
    }
}

fn language_of(name: &str) -> Option<Language> {
    let by_name = MANIFESTS.iter().find(|(manifest, _)| *manifest == name);
    let by_ending = || ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    by_name.or_else(by_ending).map(|(_, language)| *language)
}

/// Names under which credentials are kept in projects. An example of one is none.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_example = EXAMPLES.iter().any(|word| lower.contains(word));
    let is_environment = lower == ".env" || lower.starts_with(".env.") || lower.ends_with(".env");
    let is_listed = SECRETS.contains(&lower.as_str());
    let has_ending = SECRET_ENDINGS.iter().any(|ending| lower.ends_with(ending));
    (is_environment || is_listed || has_ending) && !is_example
}

const MANIFESTS: &[(&str, Language)] = &[
    ("Cargo.toml", Language::Rust),
    ("package.json", Language::Node),
    ("deno.json", Language::Node),
    ("pyproject.toml", Language::Python),
    ("requirements.txt", Language::Python),
    ("setup.py", Language::Python),
    ("Pipfile", Language::Python),
    ("environment.yml", Language::Python),
    ("go.mod", Language::Go),
    ("pom.xml", Language::Java),
    ("build.gradle", Language::Java),
    ("build.gradle.kts", Language::Java),
    ("Gemfile", Language::Other("Ruby")),
    ("composer.json", Language::Other("PHP")),
    ("mix.exs", Language::Other("Elixir")),
    ("CMakeLists.txt", Language::Other("C or C++")),
    ("meson.build", Language::Other("C or C++")),
    ("Makefile", Language::Other("make")),
];

const ENDINGS: &[(&str, Language)] =
    &[(".csproj", Language::Other(".NET")), (".cabal", Language::Other("Haskell"))];

const EXAMPLES: &[&str] = &["example", "sample", "template", ".dist", "test"];

const SECRETS: &[&str] = &[
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "credentials.json",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "terraform.tfstate",
    "terraform.tfvars",
];

const SECRET_ENDINGS: &[&str] = &[".key", ".p12", ".pem", ".pfx", ".jks", ".keystore", ".kdbx"];

/// Packages and what builds leave.
const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "target",
    "vendor",
    "venv",
];

const MOST_DEPTH: usize = 3;

const MOST_NAMES: usize = 20_000;
