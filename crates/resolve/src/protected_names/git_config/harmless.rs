//! Whether a text of configuration starts no program, reads no further file and leads Git nowhere else: it
//! holds settings of a list and no others. What Git may come to know in later versions is in no list, and so
//! never harmless. Judges text; never touches a file.

use super::{Reader, Variable};

#[cfg(test)]
mod tests;

/// Whether all settings of a text are known to start nothing.
///
/// `is_inside` says whether a path that the text names as a work tree lies where the text may lead.
pub fn starts_nothing(text: &[u8], is_inside: impl Fn(&[u8]) -> bool) -> bool {
    let mut reader = Reader::new(text);
    while let Some(variable) = reader.next_variable() {
        if !is_harmless(&variable, &is_inside) {
            return false;
        }
    }
    true
}

fn is_harmless(variable: &Variable, is_inside: &dyn Fn(&[u8]) -> bool) -> bool {
    let Variable { section, key, value } = variable;
    let value = value.as_deref().unwrap_or_default();
    let is = |known: &str, word: &[u8]| known.as_bytes() == word;
    let setting = SETTINGS.iter().find(|(known, keys, _)| {
        is(known, section) && (*keys == ["*"] || keys.iter().any(|known| is(known, key)))
    });
    match setting.map(|(.., values)| values) {
        Some(Values::All) => true,
        Some(Values::Address) => is_address(value),
        Some(Values::WorkTree) => is_inside(value),
        Some(Values::Update) => !value.starts_with(b"!"),
        None => false,
    }
}

/// An address that Git reads itself or by a helper of its own: no command (`ext::`), no option, and no other
/// helper of somebody's choice (`name::`).
fn is_address(value: &[u8]) -> bool {
    let is_of_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    let after_name = value.iter().position(|byte| !is_of_name(byte)).unwrap_or(value.len());
    let has_helper = value.get(after_name..).is_some_and(|rest| rest.starts_with(b"::"));
    let is_option = value.starts_with(b"-")
        || [b"//-".as_slice(), b"@-"]
            .iter()
            .any(|part| value.windows(part.len()).any(|found| found == *part));
    !has_helper && !is_option
}

/// Which values are harmless.
enum Values {
    All,
    /// Those that name a repository without a program.
    Address,
    /// A directory inside of where the text may lead.
    WorkTree,
    /// Those that are no command.
    Update,
}

/// Sections, keys, and which of their values are harmless. What Git and common tools write into a new
/// repository, and what people set most.
const SETTINGS: &[(&str, &[&str], Values)] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "sharedrepository",
            "autocrlf",
            "eol",
            "safecrlf",
            "whitespace",
            "abbrev",
            "quotepath",
            "compression",
            "checkstat",
            "trustctime",
            "sparsecheckout",
            "sparsecheckoutcone",
            "untrackedcache",
            "splitindex",
            "protecthfs",
            "protectntfs",
            "longpaths",
            "commitgraph",
            "multipackindex",
        ],
        Values::All,
    ),
    ("core", &["worktree"], Values::WorkTree),
    (
        "extensions",
        &[
            "objectformat",
            "compatobjectformat",
            "partialclone",
            "worktreeconfig",
            "refstorage",
            "preciousobjects",
            "noop",
            "relativeworktrees",
        ],
        Values::All,
    ),
    ("remote", &["url", "pushurl"], Values::Address),
    (
        "remote",
        &[
            "fetch",
            "push",
            "tagopt",
            "mirror",
            "prune",
            "prunetags",
            "skipdefaultupdate",
            "promisor",
            "partialclonefilter",
            "followremotehead",
            "pushdefault",
        ],
        Values::All,
    ),
    ("branch", &["remote", "merge", "rebase", "pushremote", "description"], Values::All),
    ("user", &["name", "email", "useconfigonly"], Values::All),
    ("author", &["name", "email"], Values::All),
    ("committer", &["name", "email"], Values::All),
    ("submodule", &["url"], Values::Address),
    ("submodule", &["update"], Values::Update),
    (
        "submodule",
        &["active", "branch", "ignore", "path", "shallow", "fetchrecursesubmodules"],
        Values::All,
    ),
    ("init", &["defaultbranch"], Values::All),
    ("push", &["default", "autosetupremote", "followtags"], Values::All),
    ("pull", &["rebase", "ff"], Values::All),
    ("fetch", &["prune", "prunetags", "parallel"], Values::All),
    ("merge", &["ff", "conflictstyle"], Values::All),
    ("rebase", &["autostash", "autosquash", "updaterefs"], Values::All),
    ("rerere", &["enabled", "autoupdate"], Values::All),
    ("commit", &["gpgsign", "verbose"], Values::All),
    ("gc", &["auto", "autodetach", "pruneexpire"], Values::All),
    ("index", &["version", "threads"], Values::All),
    ("lfs", &["repositoryformatversion", "locksverify"], Values::All),
    ("advice", &["*"], Values::All),
];
