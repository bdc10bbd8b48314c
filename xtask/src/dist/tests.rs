//! The archive of a program that only prints: what is in it, and that it is the same twice.

use super::*;

/// Prints what the real one would be asked for.
const PROGRAM: &str = "#!/bin/sh
case \"$1\" in
--version) echo 'stockade 9.8.7' ;;
--help) printf 'Usage\\n\\nCommands:\\n  run    Run\\n         a program\\n  audit  Show\\n\\nOptions:\\n  -h  Help\\n' ;;
*) echo \"$@\" ;;
esac
";

#[test]
fn the_archive_is_complete_and_the_same_twice() {
    if !testing::has("tar") || !testing::has("gzip") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let binary = place.path().join("program");
    put(&binary, PROGRAM.as_bytes(), 0o755).unwrap();
    put(&place.path().join(GUEST), b"guest", 0o755).unwrap();
    let root = crate::project_root();
    let packed = |name: &str| {
        let archive = pack(&root, &binary, &place.path().join(name), 1_700_000_000).unwrap();
        (fs::read(&archive).unwrap(), archive)
    };
    let (first, archive) = packed("one");
    let (second, _) = packed("two");
    assert!(first == second, "the same program gives the same archive");
    let sums = fs::read_to_string(place.path().join("one/SHA256SUMS")).unwrap();
    let name = archive.file_name().unwrap().to_str().unwrap();
    assert!(sums.len() > 66 && sums.ends_with(&format!("  {name}\n")), "{sums}");
    let mut list = Command::new("tar");
    let listed = printed_by(list.arg("-tzf").arg(&archive)).unwrap();
    let top = name.strip_suffix(".tar.gz").unwrap();
    for file in [
        "bin/stockade",
        "bin/stockade-guest",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "README.md",
        "share/man/man1/stockade.1",
        "share/man/man1/stockade-run.1",
        "share/man/man1/stockade-audit.1",
        "share/bash-completion/completions/stockade",
        "share/zsh/site-functions/_stockade",
        "share/fish/vendor_completions.d/stockade.fish",
    ] {
        assert!(listed.lines().any(|line| line == format!("{top}/{file}")), "{file}: {listed}");
    }
    assert!(!listed.contains("stockade-a.1") && !listed.contains("stockade-.1"), "{listed}");
}
