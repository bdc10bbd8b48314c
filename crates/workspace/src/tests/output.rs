//! Diffs as people and programs read them.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::support::{Fixture, Tree, tree};
use crate::{Style, TreePath, write_diff, write_json, write_notes, write_stat};

fn diff(fixture: &Fixture, style: Style) -> Vec<u8> {
    let mut text = Vec::new();
    write_diff(&fixture.workspace(), &fixture.changes(), style, &mut text).unwrap();
    text
}

#[test]
fn a_diff_reads_like_that_of_git() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "1\n2\n3\n"), ("gone", "x\n"), ("bin", "\0a"), ("s", "s\n")]).start();
    fixture.cage("printf '1\\ntwo\\n3' > a; rm gone; printf '\\0b' > bin; chmod 755 s; ln -s a l; mkdir -m 755 e");
    let expected = "\
diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,3 +1,3 @@
 1
-2
-3
+two
+3
\\ No newline at end of file
diff --git a/bin b/bin
Binary files a/bin and b/bin differ (2 -> 2 bytes)
new directory e, mode 40755
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/l b/l
new file mode 120000
--- /dev/null
+++ b/l
@@ -0,0 +1 @@
+a
\\ No newline at end of file
diff --git a/s b/s
old mode 100644
new mode 100755
";
    assert_eq!(String::from_utf8(diff(&fixture, Style::Plain)).unwrap(), expected);
    let coloured = String::from_utf8(diff(&fixture, Style::Coloured)).unwrap();
    assert!(
        coloured.contains("\u{1b}[31m-2\u{1b}[m\n")
            && coloured.contains("\u{1b}[32m+two\u{1b}[m\n")
    );
    let mut stat = Vec::new();
    write_stat(&fixture.workspace(), &fixture.changes(), Style::Plain, &mut stat).unwrap();
    let stat = String::from_utf8(stat).unwrap();
    let lines: Vec<&str> = stat.lines().map(|line| line.trim_end()).collect();
    let squeezed: Vec<String> =
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        squeezed,
        [
            "a | 4 ++--",
            "bin | Bin (2 -> 2 bytes)",
            "e | new",
            "gone | 1 -",
            "l | 1 +",
            "s | permissions",
            "6 paths changed, 3 insertions(+), 3 deletions(-)"
        ]
    );
}

/// What `git apply` makes of a plain diff is what the cage saw.
#[test]
fn git_can_apply_a_plain_diff() {
    if !testing::has("git") {
        return;
    }
    let fixture = Fixture::new();
    let many: String = (0..200).map(|line| format!("line {line}\n")).collect();
    fixture.host(&[
        ("many", &many),
        ("named", &many),
        ("odd \"name\\\n", "x\n"),
        ("t", "t\n"),
        ("u/v", "v\n"),
    ]);
    fixture.start();
    let seen = fixture.cage(
        "sed -i 's/line 7$/seven/; s/line 100$/hundred/; /line 150/d' many; sed 's/line 3$/three/' named > renamed
         rm named; printf 'y\\n' >> \"$(printf 'odd \"name\\\\\\n')x\" || true
         printf 'new\\nfile' > new; rm t; ln -s many t; rm u/v; mkdir -p d/e; echo x > d/e/f; printf 'a\\r\\n\\033[31m\\n' > control; chmod 755 new",
    );
    let patch = diff(&fixture, Style::Plain);
    assert!(String::from_utf8_lossy(&patch).contains("rename from named\nrename to renamed\n"));
    let copy = fixture.place.path().join("copy");
    let copied = Command::new("cp").arg("-a").args([&fixture.host, &copy]).status().unwrap();
    assert!(copied.success());
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "-"])
        .current_dir(&copy)
        .env("GIT_CEILING_DIRECTORIES", fixture.place.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(&patch).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bare = |tree: Tree| {
        let files = tree.into_iter().filter(|(_, node)| node.0 != 'd');
        files.map(|(name, node)| (name, node.0, node.1 & 0o100, node.2)).collect::<Vec<_>>()
    };
    assert_eq!(bare(tree(&copy)), bare(seen));
}

/// T20, T53: nothing that the program wrote acts on a terminal or hides, in names and in contents.
#[test]
fn nothing_acts_on_a_terminal() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "1\n")]).start();
    let evil = "x\u{1b}]0;evil\u{7}\u{202e}y\u{200b}\rz";
    fixture.upper(&[("a", &format!("{evil}\tkept\n")), (&format!("{evil}/f"), evil)]);
    fs::write(fixture.area.join("upper/raw"), b"\xff\x9b31m\n").unwrap();
    let workspace = fixture.workspace();
    let changes = fixture.changes();
    let mut texts = vec![diff(&fixture, Style::Terminal), Vec::new(), Vec::new()];
    write_stat(&workspace, &changes, Style::Terminal, &mut texts[1]).unwrap();
    write_notes(&changes, &mut texts[2]).unwrap();
    for text in texts {
        let text = String::from_utf8(text).expect("text");
        let acts = |character: char| {
            policy::shown::misleads(character) && !matches!(character, '\n' | '\t')
        };
        assert!(!text.chars().any(acts), "{text:?}");
    }
    let text = String::from_utf8(diff(&fixture, Style::Terminal)).unwrap();
    assert!(text.contains("+x\\u{1b}]0;evil\\u{7}\\u{202e}y\\u{200b}\\u{d}z\tkept\n"), "{text}");
    assert!(text.contains("+\\xff\\x9b31m\n"), "{text}");
    assert!(
        text.contains("\"b/x\\033]0;evil\\007\\342\\200\\256y\\342\\200\\213\\015z/f\""),
        "{text}"
    );
}

#[test]
fn json_says_everything() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "1\n2\n"), ("named", "a text that is moved\n"), ("c", "c")]).start();
    fixture.cage("echo 3 >> a; mv named renamed; mkdir .vscode; echo {} > .vscode/tasks.json; ln -s /etc l; mkfifo p; echo d > c");
    fixture.host(&[("c", "host")]);
    let mut text = Vec::new();
    write_json(&fixture.workspace(), &fixture.changes(), &mut text).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let find = |path: &str| {
        let list = value["changes"].as_array().unwrap();
        list.iter().find(|change| change["path"] == path).unwrap().clone()
    };
    let a = find("a");
    assert_eq!(
        (&a["change"], &a["insertions"], &a["deletions"]),
        (&"modified".into(), &1.into(), &0.into())
    );
    assert_eq!((&a["before"]["size"], &a["after"]["mode"]), (&4.into(), &"0644".into()));
    assert_eq!(find("renamed")["from"], "named");
    assert_eq!(find("c")["conflict"], "changed");
    assert_eq!(find("l")["leads_out"], true);
    assert!(
        find(".vscode/tasks.json")["protected"]["runs_by"].as_str().unwrap().contains("editor")
    );
    assert_eq!(value["refused"][0]["path"], "p");
    let mut notes = Vec::new();
    write_notes(&fixture.changes(), &mut notes).unwrap();
    let notes = String::from_utf8(notes).unwrap();
    for line in [
        "runs code: .vscode/tasks.json: an editor",
        "conflict: c: changed on the host",
        "link: l: it leads out",
        "never applied: p: it is a FIFO",
    ] {
        assert!(notes.contains(line), "{notes}");
    }
    assert!(TreePath::parse(b"a").is_ok());
}

/// Texts that are made to take long end all the same.
#[test]
fn a_hostile_text_takes_no_endless_time() {
    let fixture = Fixture::new();
    let lines = |seed: u64| {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % 997
        };
        (0..60_000).map(|_| format!("{}\n", next())).collect::<String>()
    };
    fixture.host(&[("a", &lines(1))]).start();
    fixture.upper(&[("a", &lines(2))]);
    let began = std::time::Instant::now();
    let text = diff(&fixture, Style::Plain);
    assert!(text.len() > 100_000);
    assert!(began.elapsed() < testing::slowly(std::time::Duration::from_secs(60)));
}
