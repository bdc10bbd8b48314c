//! Indexes that Git itself has written, and such as it never would. Runs Git in temporary directories.

use std::path::Path;
use std::process::Command;

use super::*;

/// Runs Git; its output.
fn git(directory: &Path, words: &[&str]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.current_dir(directory).args(["-c", "user.name=n", "-c", "user.email=n@example.com"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").args(words);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn has_git() -> bool {
    let is_there = Command::new("git").arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os("STOCKADE_REQUIRE").is_none_or(|value| value != "all"));
        eprintln!("skipped: git_index: `git` is not installed");
    }
    is_there
}

/// A repository with files, a link, a gitlink and names of every length modulo eight.
fn repository(format: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    git(top, &["init", "--quiet", &format!("--object-format={format}")]);
    std::fs::create_dir_all(top.join("deep/er/still")).unwrap();
    for length in 1..40 {
        std::fs::write(top.join("deep/er").join("n".repeat(length)), "x").unwrap();
    }
    let long = format!("{}/{}", "l".repeat(250), "m".repeat(250));
    std::fs::create_dir(top.join("l".repeat(250))).unwrap();
    std::fs::write(top.join(long), "x").unwrap();
    std::os::unix::fs::symlink("target", top.join("deep/er/still/link")).unwrap();
    git(top, &["add", "."]);
    let commit = "1".repeat(if format == "sha256" { 64 } else { 40 });
    for path in ["deep/gitlink", "zz/gitlink"] {
        git(top, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
    }
    directory
}

type Entries = Vec<(Vec<u8>, Kind)>;

/// What Git says is in an index, as we would tell it.
fn listed(top: &Path) -> Entries {
    let text = git(top, &["ls-files", "--stage", "-z"]);
    let lines = text.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let kind = if line.starts_with(b"160000") { Kind::Gitlink } else { Kind::File };
            (line[tab + 1..].to_vec(), kind)
        })
        .collect()
}

fn read_all(bytes: &[u8], names: ObjectNames) -> Result<(Entries, Extent), Damaged> {
    let mut found = Vec::new();
    let extent = read(bytes, names, |path, kind, _| found.push((path.to_vec(), kind)))?;
    Ok((found, extent))
}

/// T67
#[test]
fn what_git_writes_is_read() {
    if !has_git() {
        return;
    }
    for (format, names) in [("sha1", ObjectNames::Sha1), ("sha256", ObjectNames::Sha256)] {
        for (version, threads) in [("2", "1"), ("3", "1"), ("4", "1"), ("2", "3"), ("4", "3")] {
            let directory = repository(format);
            let top = directory.path();
            if version == "3" {
                git(top, &["update-index", "--skip-worktree", "deep/er/n"]);
            }
            git(top, &["config", "index.threads", threads]);
            git(top, &["update-index", "--index-version", version, "--force-write-index"]);
            let bytes = std::fs::read(top.join(".git/index")).unwrap();
            assert_eq!(bytes[7].to_string(), version, "{format}");
            assert_eq!(bytes.windows(4).any(|four| four == b"IEOT"), threads != "1");
            let (found, extent) = read_all(&bytes, names).unwrap();
            assert_eq!(extent, Extent::Whole);
            assert_eq!(found, listed(top), "{format} {version}");
            assert_eq!(found.iter().filter(|(_, kind)| *kind == Kind::Gitlink).count(), 2);
        }
    }
}

#[test]
fn a_split_index_is_recognised() {
    if !has_git() {
        return;
    }
    let directory = repository("sha1");
    let top = directory.path();
    git(top, &["update-index", "--split-index"]);
    std::fs::write(top.join("more"), "x").unwrap();
    git(top, &["add", "more"]);
    let bytes = std::fs::read(top.join(".git/index")).unwrap();
    let (found, extent) = read_all(&bytes, ObjectNames::Sha1).unwrap();
    assert_eq!(extent, Extent::Split);
    assert!(found.len() < listed(top).len());
}

#[test]
fn a_sparse_index_is_recognised() {
    if !has_git() {
        return;
    }
    let directory = repository("sha1");
    let top = directory.path();
    git(top, &["commit", "--quiet", "-m", "one"]);
    git(top, &["sparse-checkout", "set", "--sparse-index", "zz"]);
    let bytes = std::fs::read(top.join(".git/index")).unwrap();
    let (found, extent) = read_all(&bytes, ObjectNames::Sha1).unwrap();
    assert_eq!(extent, Extent::Sparse);
    assert!(found.iter().any(|(_, kind)| *kind == Kind::Directory), "{found:?}");
}

/// One entry of an index that is made by hand.
fn entry(path: &[u8], mode: u32, length: u16) -> Vec<u8> {
    let mut bytes = vec![0; STATUS_BYTES];
    bytes[MODE_OFFSET..MODE_OFFSET + 4].copy_from_slice(&mode.to_be_bytes());
    bytes.extend([7; 20]);
    bytes.extend(length.to_be_bytes());
    bytes.extend(path);
    bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
    bytes
}

fn index(entries: &[Vec<u8>], extensions: &[u8]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).unwrap().to_be_bytes();
    let head = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &count].concat();
    [head, entries.concat(), extensions.to_vec(), vec![9; 20]].concat()
}

fn extension(name: &[u8], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [name, &length, data].concat()
}

fn blocks(blocks: &[(u32, u32)]) -> Vec<u8> {
    let table = blocks.iter().flat_map(|(offset, count)| [*offset, *count]);
    let numbers: Vec<u8> = [1].into_iter().chain(table).flat_map(u32::to_be_bytes).collect();
    extension(b"IEOT", &numbers)
}

/// T67: an index in which Git could find something that is not seen here is none.
#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let (one, two) = (entry(b"one", 0o100_644, 3), entry(b"two", 0o160_000, 3));
    let both = [one.clone(), two.clone()];
    let second = u32::try_from(HEADER_BYTES + one.len()).unwrap();
    let end = second + u32::try_from(two.len()).unwrap();
    let whole = |bytes: &[u8]| read_all(bytes, ObjectNames::Sha1).map(|(_, extent)| extent);
    for (bytes, expected) in [
        (index(&both, b""), Ok(Extent::Whole)),
        (index(&both, &extension(b"TREE", b"anything")), Ok(Extent::Whole)),
        (index(&both, &blocks(&[(12, 1), (second, 1)])), Ok(Extent::Whole)),
        (index(&both, &blocks(&[(12, 1), (second + 8, 1)])), Err(Damaged)),
        (index(&both, &blocks(&[(12, 2), (second, 1)])), Err(Damaged)),
        (index(&both, &blocks(&[(12, 1)])), Err(Damaged)),
        (
            index(&both, &extension(b"EOIE", &[&end.to_be_bytes()[..], &[0; 20]].concat())),
            Ok(Extent::Whole),
        ),
        (
            index(&both, &extension(b"EOIE", &[&second.to_be_bytes()[..], &[0; 20]].concat())),
            Err(Damaged),
        ),
        (index(&both, &extension(b"what", b"")), Err(Damaged)),
        (index(&both, &extension(b"link", &[0; 20])), Ok(Extent::Split)),
        (index(&[entry(b"a\0b", 0o160_000, 3)], b""), Err(Damaged)),
        (index(&[entry(b"long", 0o160_000, 3)], b""), Err(Damaged)),
        (index(&[entry(b"", 0o160_000, 0)], b""), Err(Damaged)),
        (index(&[entry(b"", 0o160_000, 0)], &extension(b"link", &[0; 20])), Ok(Extent::Split)),
        (index(&[entry(b"one", 0o020_000, 3)], b""), Err(Damaged)),
        (index(&[entry(b"one/", 0o040_000, 4)], b""), Ok(Extent::Sparse)),
        (b"DIRC".to_vec(), Err(Damaged)),
        (Vec::new(), Err(Damaged)),
    ] {
        assert_eq!(whole(&bytes), expected, "{bytes:?}");
    }
    let full = index(&both, &blocks(&[(12, 1), (second, 1)]));
    // Cut behind the entries it is one without the table.
    let without = index(&both, b"").len();
    for length in (0..full.len()).filter(|length| *length != without) {
        assert!(whole(&full[..length]).is_err(), "{length}");
    }
}

/// T76: a short index that stands for long paths.
#[test]
fn paths_that_are_shared_without_end_are_refused() {
    let first = [b"x".repeat(4000).as_slice(), b"\0"].concat();
    let mut bytes = [b"DIRC".as_slice(), &4_u32.to_be_bytes(), &1000_u32.to_be_bytes()].concat();
    for number in 0..1000 {
        let mut entry = vec![0; STATUS_BYTES + 20];
        entry[MODE_OFFSET..MODE_OFFSET + 4].copy_from_slice(&0o100_644_u32.to_be_bytes());
        entry.extend(4000_u16.to_be_bytes());
        entry.push(0);
        entry.extend(if number == 0 { first.as_slice() } else { b"\0" });
        bytes.extend(entry);
    }
    bytes.extend([0; 20]);
    assert_eq!(read_all(&bytes, ObjectNames::Sha1).unwrap_err(), Damaged);
}
