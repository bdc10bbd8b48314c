//! Each rule on small trees that exist only here: what it finds, and what it leaves alone.

use std::fs;

use super::tree::Tree;
use super::*;

/// A place where no file of a fixture lies.
const ROOT: &str = "/somewhere/checkout";

/// Runs one rule over a tree and compares all it says, as a person would read it.
#[track_caller]
fn check(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = rule(&Tree::of(ROOT, files)).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

/// The part of a rule's answer that matters when the wording does not.
#[track_caller]
fn places(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], expected: &[(&str, usize)]) {
    let found = rule(&Tree::of(ROOT, files));
    let found: Vec<(&str, usize)> =
        found.iter().map(|finding| (finding.path.as_str(), finding.line)).collect();
    assert_eq!(found, expected);
}

fn lines(count: usize) -> String {
    "//! line\n".repeat(count)
}

#[test]
fn sizes_are_bounded_by_what_a_file_is() {
    let cases: &[(&str, usize, bool)] = &[
        ("crates/a/src/lib.rs", 500, false),
        ("crates/a/src/lib.rs", 501, true),
        ("crates/a/src/tests.rs", 800, false),
        ("crates/a/src/tests.rs", 801, true),
        ("crates/a/tests/escape/one.rs", 800, false),
        ("crates/a/tests/escape/one.rs", 801, true),
        ("bindings/python/python/stockade/a.py", 500, false),
        ("bindings/python/python/stockade/a.py", 501, true),
        ("bindings/python/tests/test_a.py", 501, false),
        ("README.md", 2000, false),
    ];
    for (path, count, too_long) in cases {
        let found = sizes::check(&Tree::of(ROOT, &[(path, &lines(*count))]));
        assert_eq!(!found.is_empty(), *too_long, "{path} with {count} lines: {found:?}");
    }
}

#[test]
fn a_crate_is_bounded_without_its_tests() {
    let part = lines(450);
    let tests = lines(800);
    let sources: Vec<String> = (0..20).map(|part| format!("crates/a/src/part{part}.rs")).collect();
    let mut files: Vec<(&str, &str)> =
        sources.iter().map(|path| (path.as_str(), part.as_str())).collect();
    files.push(("crates/a/src/tests.rs", &tests));
    files.push(("crates/a/tests/whole.rs", &tests));
    files.push(("crates/b/src/lib.rs", "//! line\n"));
    files.push(("xtask/src/main.rs", "//! line\n"));
    check(sizes::check, &files, &[]);
    files.push(("crates/a/src/lib.rs", "//! line\n"));
    check(
        sizes::check,
        &files,
        &["crates/a: 9001 lines without tests, 9000 at most: split it by what its folders are"],
    );
}

#[test]
fn tests_stand_beside_the_code() {
    places(
        sizes::check,
        &[("a/src/lib.rs", "//! a\n#[cfg(test)]\nmod tests {\n}\n")],
        &[("a/src/lib.rs", 3)],
    );
    places(sizes::check, &[("a/src/lib.rs", "//! a\n#[cfg(test)]\nmod tests;\n")], &[]);
}

#[test]
fn every_file_opens_with_what_it_is() {
    check(openings::check, &[("a.rs", "//! Turns a name into a number; never guesses.\n")], &[]);
    check(
        openings::check,
        &[("a.rs", "use std::fs;\n")],
        &["a.rs:1: opens with `//!` and what the file is and never does"],
    );
    check(
        openings::check,
        &[("a.rs", "//! Paths.\n")],
        &["a.rs:1: the opening `//!` is too short to say what the file is"],
    );
    check(
        openings::check,
        &[("a.rs", ""), ("a.py", "import os\n"), ("a.sh", "true\n")],
        &[
            "a.py:1: opens with `\"\"\"` and what the file is and never does",
            "a.rs:1: opens with `//!` and what the file is and never does",
        ],
    );
    check(openings::check, &[("a.py", "\"\"\"Turns a name into a number.\"\"\"\n")], &[]);
}

#[test]
fn no_kind_of_a_plan_is_taken_in_unseen() {
    let of = |path: &'static str, code: &str, lines: &[usize]| {
        let text = format!("fn f() {{\n{code}\n}}\n");
        let expected: Vec<(&str, usize)> = lines.iter().map(|line| (path, *line)).collect();
        places(totality::check, &[(path, &text)], &expected);
    };
    let code = "crates/a/src/lib.rs";
    of(code, "match a {\nMountOp::Bind(_) => f(|a, b| { c }),\n_ => g(),\n}", &[4]);
    of(code, "match a {\nAccess::ReadOnly => {\nmatch b { _ => 1 }\n}\nother => 2,\n}", &[6]);
    of(code, "match a {\nSome(FileKind::File) => 1,\nSome(_) => 2,\nNone => 3,\n}", &[4]);
    of(code, "match a {\nMountOp::Mask { .. }\n| MountOp::Proc { .. } => 1,\n_ => 2\n}", &[5]);
    // The compiler asks for an arm for each kind here.
    of(code, "match a {\nFileKind::File => 1,\n_ if b => 2,\nFileKind::Directory => 3,\n}", &[]);
    of(code, "match (a, b) {\n(Access::ReadOnly, _) => 1,\n(Access::ReadWrite, c) => c,\n}", &[]);
    // Other enums, other names that end alike, and tests may.
    of(code, "match a {\nMyAccess::ReadOnly => 1,\nb => Access::ReadOnly,\n}", &[]);
    of("crates/a/src/tests.rs", "match a { MountOp::Bind(_) => 1, _ => 2 }", &[]);
    let own = "}\nimpl Access {\nfn f(self) {\nmatch self { Self::ReadOnly => 1, _ => 2 }\n}";
    of(code, own, &[5]);
    of(code, &own.replace("Access", "Other"), &[]);
    // One kind of operation is asked for by a method.
    of(code, "matches!(\na, MountOp::Bind(_))", &[2]);
    of(code, "if let Some(MountOp::Bind(b)) = a {}", &[2]);
    of(code, "let MountOp::Bind(b) = a else { return };", &[2]);
    of(code, "let a = MountOp::Bind(b);", &[]);
    of("crates/plan/src/mount.rs", "if let MountOp::Bind(b) = a {}", &[]);
}

#[test]
fn names_that_fit_everything_are_refused() {
    check(
        names::check,
        &[("crates/a/src/utils.rs", "")],
        &["crates/a/src/utils.rs: `utils` names no idea: call it after what it does"],
    );
    places(
        names::check,
        &[("crates/a/tests/common/mod.rs", "")],
        &[("crates/a/tests/common/mod.rs", 0)],
    );
    check(names::check, &[("crates/a/src/common_name.rs", ""), ("docs/utils.md", "")], &[]);
}

#[test]
fn modules_lie_beside_their_folders() {
    check(
        modules::check,
        &[("crates/a/src/b/mod.rs", ""), ("xtask/src/c/d/mod.rs", "")],
        &[
            "crates/a/src/b/mod.rs: a module lies beside its folder: move it to `crates/a/src/b.rs`",
            "xtask/src/c/d/mod.rs: a module lies beside its folder: move it to `xtask/src/c/d.rs`",
        ],
    );
    let others = ["crates/a/src/b.rs", "crates/a/src/b/c.rs", "crates/a/tests/support/mod.rs"];
    check(modules::check, &others.map(|path| (path, "")), &[]);
}

#[test]
fn edges_are_those_of_the_architecture() {
    let plan = "[dependencies]\nserde.workspace = true\n";
    check(edges::check, &[("crates/plan/Cargo.toml", plan)], &[]);
    let upward = "[dependencies]\npolicy.workspace = true\n";
    check(
        edges::check,
        &[("crates/jail/Cargo.toml", upward)],
        &[
            "crates/jail/Cargo.toml: `jail` may not use `policy`: of ours it may use plan, sys, walls",
        ],
    );
    check(
        edges::check,
        &[("crates/plan/Cargo.toml", upward)],
        &["crates/plan/Cargo.toml: `plan` may not use `policy`: it uses no crate of ours"],
    );
    let unknown = "[package]\nname = \"stockade-stranger\"\n";
    places(
        edges::check,
        &[("crates/stranger/Cargo.toml", unknown), ("bindings/stranger/Cargo.toml", unknown)],
        &[("bindings/stranger/Cargo.toml", 0), ("crates/stranger/Cargo.toml", 0)],
    );
}

#[test]
fn an_edge_cannot_hide_behind_a_name_a_table_or_a_platform() {
    let cases = [
        "[dependencies]\nstockade-cage = \"1\"\n",
        "[dependencies]\nother = { package = \"stockade-cage\", version = \"1\" }\n",
        "[dependencies]\nother = { path = \"../cage\" }\n",
        "[build-dependencies]\ncage.workspace = true\n",
        "[target.'cfg(unix)'.dependencies]\ncage.workspace = true\n",
    ];
    for manifest in cases {
        places(
            edges::check,
            &[("crates/sys/Cargo.toml", manifest)],
            &[("crates/sys/Cargo.toml", 0)],
        );
    }
    let tested = "[dev-dependencies]\ncage.workspace = true\n";
    check(edges::check, &[("crates/sys/Cargo.toml", tested)], &[]);
}

#[test]
fn pure_crates_do_not_touch_the_world() {
    check(
        purity::check,
        &[("crates/plan/Cargo.toml", "[dependencies]\nrustix.workspace = true\n")],
        &["crates/plan/Cargo.toml: `plan` does no I/O, so it has no use for `rustix`"],
    );
    places(
        purity::check,
        &[
            (
                "crates/policy/src/text.rs",
                "//! a\nuse std::fs::read;\n// std::fs\nlet a = \"std::fs\";\n",
            ),
            ("crates/policy/src/tests.rs", "use std::fs;\n"),
            ("crates/policy/build.rs", "use std::fs;\n"),
            ("crates/cage/src/lib.rs", "use std::fs;\n"),
            (
                "crates/plan/src/lib.rs",
                "let found = path.as_path().exists();\nuse std::net::IpAddr;\n",
            ),
        ],
        &[("crates/plan/src/lib.rs", 1), ("crates/policy/src/text.rs", 2)],
    );
}

const FORBIDS: &str = "//! a\n#![forbid(unsafe_code)]\n";

#[test]
fn unsafe_code_has_one_home() {
    check(unsafety::check, &[("crates/a/src/lib.rs", FORBIDS)], &[]);
    check(
        unsafety::check,
        &[("crates/a/src/lib.rs", "//! a\n// #![forbid(unsafe_code)]\n")],
        &["crates/a/src/lib.rs: the crate's root says `#![forbid(unsafe_code)]`"],
    );
    places(
        unsafety::check,
        &[("crates/a/src/b.rs", "fn a() { unsafe { b() } }\n")],
        &[("crates/a/src/b.rs", 1)],
    );
    let harmless = "// unsafe\nlet unsafe_count = \"unsafe\";\nlet c = '\"'; // unsafe \"\n";
    check(unsafety::check, &[("crates/a/src/b.rs", harmless)], &[]);
}

#[test]
fn each_use_of_unsafe_code_has_its_reason() {
    let long = "// SAFETY: `buffer` outlives the call, and its length is the second argument.\n";
    let accepted = [
        format!("{long}unsafe {{ call() }}\n"),
        format!("{long}#[expect(x)]\nunsafe impl Send for A {{}}\n"),
        format!("{long}let value =\n    unsafe {{ call() }};\n"),
        "// SAFETY: the pointer comes from a reference\n// that lives until the call returns.\nunsafe {\n"
            .to_owned(),
        "/// # Safety\n/// `descriptor` is open and belongs to nobody else in this process.\nunsafe fn a() {}\n"
            .to_owned(),
    ];
    for text in &accepted {
        check(unsafety::check, &[("crates/sys/src/a.rs", text)], &[]);
    }
    let refused = [
        ("unsafe { call() }\n".to_owned(), 1),
        ("// SAFETY: fine.\nunsafe { call() }\n".to_owned(), 2),
        ("// SAFETY: all parameters are valid for the whole duration of this call here.\nunsafe {\n".to_owned(), 2),
        (format!("{long}first();\nunsafe {{ second() }}\n"), 3),
        (format!("{long}\nunsafe {{ call() }}\n"), 3),
        ("/// Closes it.\nunsafe fn a() {}\n".to_owned(), 2),
    ];
    for (text, line) in &refused {
        places(
            unsafety::check,
            &[("crates/sys/src/a.rs", text)],
            &[("crates/sys/src/a.rs", *line)],
        );
    }
}

#[test]
fn unfinished_work_is_found_and_words_that_contain_it_are_not() {
    let marker = concat!("TO", "DO");
    let unfinished = concat!("to", "do!()");
    places(markers::check, &[("README.md", &format!("a\n{marker}: b\n"))], &[("README.md", 2)]);
    places(markers::check, &[("a.rs", &format!("//! a\n{unfinished}\n"))], &[("a.rs", 2)]);
    let harmless = format!("My{marker}s {marker}_LIST\n");
    check(markers::check, &[("README.md", &harmless), ("seed.bin", marker)], &[]);
}

#[test]
fn documents_exist_and_the_map_names_each_crate() {
    let all: Vec<(&str, &str)> = [
        "README.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
        "SPECIFICATION.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "docs/policy.md",
    ]
    .map(|path| (path, "`crates/plan`"))
    .to_vec();
    check(documents::check, &all, &[]);
    check(documents::check, &all[1..], &["README.md: the document does not exist or is empty"]);
    let with = |path: &'static str| [all.as_slice(), &[(path, "")]].concat();
    check(documents::check, &with("crates/plan/Cargo.toml"), &[]);
    check(
        documents::check,
        &with("crates/jail/Cargo.toml"),
        &["ARCHITECTURE.md: does not say what `crates/jail` is"],
    );
}

#[test]
fn links_lead_somewhere() {
    let policy =
        ("docs/policy.md", "# The policy\n```\n# not a heading\n```\n## File rules (`fs`)\n");
    let cases: &[(&str, Option<&str>)] = &[
        ("[a](docs/policy.md)", None),
        ("[a](docs/)", None),
        ("[a](docs/policy.md#the-policy) [b](docs/policy.md#file-rules-fs)", None),
        ("[a](#here) and [b](https://example.com/x) [c](mailto:a@example.com)", None),
        ("`[a](missing.md)`", None),
        ("[a](missing.md)", Some("README.md:2: link to `missing.md`: there is no such file")),
        ("[a](../x.md)", Some("README.md:2: link to `../x.md`: leads out of the project")),
        (
            "[a](docs/policy.md#not-a-heading)",
            Some(
                "README.md:2: link to `docs/policy.md#not-a-heading`: there is no heading `not-a-heading`",
            ),
        ),
    ];
    for (text, expected) in cases {
        let readme = format!("# Here\n{text}\n");
        let expected: Vec<&str> = expected.iter().copied().collect();
        check(links::check, &[policy, ("README.md", &readme)], &expected);
    }
    check(links::check, &[("docs/a.md", "[up](../README.md)"), ("README.md", "")], &[]);
}

/// The specification rule on a list and one more file.
#[track_caller]
fn specified(list: &str, file: (&str, &str), expected: &[&str]) {
    check(specification::check, &[("SPECIFICATION.md", list), file], expected);
}

/// K213
#[test]
fn a_line_that_holds_is_named_by_a_test_or_an_attack() {
    let list = "# T\n- **T1** A link leads outside.\n";
    let shown = [
        ("crates/a/src/links/tests.rs", "/// T1\n#[test]\nfn a() {}\n"),
        ("crates/a/src/tests/links.rs", "/// K-like words aside, T1: never outside.\nfn a() {}\n"),
        ("crates/a/tests/links.rs", "fn a() {\n    // T1\n}\n"),
        ("crates/attacks/src/files.rs", "Attack::new(\"T1\", \"link\", \"writes\", link)\n"),
        ("bindings/a/tests/test_a.py", "\"\"\"Links.\"\"\"\ndef test_a():\n    \"\"\"T1\"\"\"\n"),
    ];
    for file in shown {
        specified(list, file, &[]);
    }
    let not_shown = [
        ("crates/a/src/links.rs", "/// T1\nfn a() {}\n"),
        ("crates/a/src/tests.rs", "//! All of T1.\n"),
        ("crates/a/src/tests.rs", "fn a() { assert!(\"T1\" != b); }\n"),
        ("crates/a/src/tests.rs", "/// T11x, AT1, T1_ and t1\nfn a() {}\n"),
        ("crates/attacks/src/tests.rs", "let id = \"T1\";\n"),
        ("crates/other/src/files.rs", "let id = \"T1\";\n"),
        ("bindings/a/tests/test_a.py", "\"\"\"All of T1.\"\"\"\n"),
        ("bindings/a/python/a.py", "\"\"\"Links.\"\"\"\n# T1\n"),
        ("README.md", "`T1` holds.\n"),
    ];
    let missing = "SPECIFICATION.md:2: no test and no attack names `T1`: name it where it is shown, or mark the line";
    for file in not_shown {
        specified(list, file, &[missing]);
    }
}

#[test]
fn a_mark_says_what_a_line_needs() {
    let tested = ("a/tests.rs", "/// K5\n");
    let silent = ("a/tests.rs", "");
    let named = "SPECIFICATION.md:1: `K5` has a mark, and a/tests.rs:1 names it";
    let unknown =
        "SPECIFICATION.md:1: `K5`: the marks are in the table at the top of SPECIFICATION.md";
    let cases: &[(&str, (&str, &str), &[&str])] = &[
        ("*(not built yet)*", silent, &[]),
        ("*(not built yet)*", tested, &[named]),
        ("*(no test: a document)*", silent, &[]),
        ("*(no test: a document)*", tested, &[named]),
        ("*(partly built: no link is followed: yet)*", silent, &[]),
        ("*(partly built: no link is followed)*", tested, &[]),
        ("*(partly built: )*", tested, &[unknown]),
        ("*(no test)*", silent, &[unknown]),
        ("*(not built)*", silent, &[unknown]),
        ("*(not built yet)* and more", silent, &[unknown]),
    ];
    for (mark, file, expected) in cases {
        specified(&format!("- **K5** It holds. {mark}\n"), *file, expected);
    }
}

#[test]
fn an_id_has_one_line_and_every_use_leads_there() {
    let list = "- **K1** One. *(not built yet)*\n- **K1** Two. *(not built yet)*\n";
    specified(list, ("a.rs", ""), &["SPECIFICATION.md:2: `K1` is defined twice"]);
    let line = "SPECIFICATION.md:1: a line begins with `- **ID** `, such as `- **K37** `";
    specified("- **K01** One.\n", ("a.rs", ""), &[line]);
    specified("- **Bold** words. See V4.\n- **V4** x *(not built yet)*\n", ("a.rs", ""), &[]);
    let undefined = [
        (("a.rs", "//! For K7.\n"), "a.rs:1: `K7` is not a line of SPECIFICATION.md"),
        (("a/tests.rs", "\n/// T9\n"), "a/tests.rs:2: `T9` is not a line of SPECIFICATION.md"),
        (("docs/a.md", "As (M3) says.\n"), "docs/a.md:1: `M3` is not a line of SPECIFICATION.md"),
        (
            ("crates/attacks/src/a.rs", "\"T99\"\n"),
            "crates/attacks/src/a.rs:1: `T99` is not a line of SPECIFICATION.md",
        ),
    ];
    for (file, expected) in undefined {
        specified("", file, &[expected]);
    }
    specified("", ("a.rs", "let v4 = Address::V4(\"K7\");\n// K0, AK47, K7b\n"), &[]);
    specified(
        "See K7.\n",
        ("a.rs", ""),
        &["SPECIFICATION.md:1: `K7` is not a line of SPECIFICATION.md"],
    );
}

#[test]
fn a_range_of_ids_cannot_be_searched_for() {
    let list = "- **K1** One.\n- **K3** Three.\n";
    for between in [" to ", "–", "-", " - ", " through "] {
        let comment = format!("/// K1{between}K3\n");
        let expected = format!("a/tests.rs:1: `K1{between}K3` hides the ids in between: name each");
        specified(list, ("a/tests.rs", &comment), &[&expected]);
    }
    specified(list, ("a/tests.rs", "/// K1, K3 and to K3: K1 is to be read.\n"), &[]);
}

#[test]
fn no_trace_of_a_machine_is_left() {
    let host = format!("see {}\n", concat!("crates", ".io"));
    let here = format!("in {ROOT}/crates\n");
    let beside = format!("in {ROOT}-other and /x{ROOT}s\n");
    places(
        traces::check,
        &[("README.md", &host), ("Cargo.lock", &host), ("a.md", &here), ("b.md", &beside)],
        &[("README.md", 1), ("a.md", 1)],
    );
}

#[test]
fn the_scanner_tells_code_from_comments_and_strings() {
    let text = concat!(
        "let a = \"x // y\"; // c\n",
        "let b = r#\"q\" unsafe\"#; /* one /* two */ still */ let c = '\\'';\n",
        "fn d<'a>(e: &'a str) { r#type }\n",
        "let f = \"first\n second // no\";\n",
    );
    let found: Vec<(String, String)> =
        source::lines(text).into_iter().map(|line| (line.code, line.comment)).collect();
    let expected = [
        ("let a = \"\"; ", " c"),
        ("let b = \"\";  let c = '';", " one  two  still "),
        ("fn d<'a>(e: &'a str) { r#type }", ""),
        ("let f = \"", ""),
        ("\";", ""),
        ("", ""),
    ];
    let expected = expected.map(|(code, comment)| (code.to_owned(), comment.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_tree_is_read_without_what_git_ignores() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(".gitignore", "/target\n/fuzz/corpus/\n");
    write("target/debug/a.rs", "");
    write("fuzz/corpus/seed", "");
    write("fuzz/targets/b.rs", "b");
    write(".git/HEAD", "");
    write("a.rs", "a");
    std::os::unix::fs::symlink("/etc/passwd", root.path().join("link.rs")).unwrap();
    let tree = Tree::read(root.path()).unwrap();
    let paths: Vec<&str> = tree.all().map(|(path, _)| path).collect();
    assert_eq!(paths, [".gitignore", "a.rs", "fuzz/targets/b.rs"]);
    assert!(tree.has("fuzz/targets") && tree.has("") && !tree.has("fuzz/tar"));
}

#[test]
fn each_wall_is_asked_about_once() {
    let ask = |wall: &str| format!("if walls::stands(Wall::{wall}) {{\n}}\n");
    let all: String = ::walls::Wall::ALL.iter().map(|wall| ask(wall.name())).collect();
    let list = ("crates/walls/src/list.rs", "//! The list.\n");
    check(standing::check, &[list, ("crates/jail/src/lib.rs", &all)], &[]);
    // A test may ask as often as it likes, and words in a comment are no question.
    let again = ask("Landlock");
    let files = [list, ("crates/jail/src/lib.rs", &all), ("crates/jail/tests/a.rs", &again)];
    check(standing::check, &files, &[]);
    let files = [list, ("crates/cage/src/lib.rs", &all), ("crates/jail/src/lib.rs", &again)];
    let message = "crates/jail/src/lib.rs:1: another place asks whether `Landlock` stands";
    check(standing::check, &files, &[message]);
    let fewer = all.replace(&again, &format!("// {again}"));
    let message = "crates/walls/: nothing asks whether `Landlock` stands";
    check(standing::check, &[list, ("crates/jail/src/lib.rs", &fewer)], &[message]);
}

#[test]
fn the_build_without_a_wall_is_known_to_its_crate_alone() {
    let text = format!("#[cfg({})]\n", ::walls::BUILD);
    check(standing::check, &[("Cargo.toml", &text)], &[]);
    for path in ["crates/jail/src/lib.rs", ".cargo/config.toml", "crates/jail/Cargo.toml"] {
        places(standing::check, &[(path, &text)], &[(path, 1)]);
    }
}
