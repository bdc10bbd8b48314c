//! A module with files of its own is `x.rs` beside the folder `x`, so that an editor's tabs and a search
//! by name tell modules apart. Looks at paths alone, and only at sources: the tests of several binaries
//! may share a `mod.rs`, because each file that lies directly in `tests` would be a binary of its own.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.ending("/mod.rs").map(|(path, _)| path);
    let sources = sources.filter(|path| path.contains("/src/"));
    let finding = |path: &str| {
        let folder = path.strip_suffix("/mod.rs").unwrap_or(path);
        Finding::of_file(path, format!("a module lies beside its folder: move it to `{folder}.rs`"))
    };
    sources.map(finding).collect()
}
