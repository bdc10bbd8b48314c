//! Files that do not say whether they are ES modules or CommonJS: what they are, and where their errors are. A23

use engines::End;

use crate::program::{caller, engines};
use crate::run;

/// Runs a program beside other files: what it printed, and what it complained of.
fn beside(files: &[(&str, &str)], source: &str) -> (End, String, String) {
    run(&engines().remove(0), source, |world| {
        for (name, text) in files {
            let path = format!("/work/{name}");
            world.files.write_file(&caller(), path.as_bytes(), text.as_bytes()).unwrap();
        }
    })
}

/// A23: an entry is an ES module if it can be nothing else, wherever in it that shows.
#[test]
fn entries_that_can_only_be_modules_are() {
    for source in [
        "const x = 1; export {}; console.log('runs');",
        "/* c */ export const a = 1; console.log('runs');",
        "const a = await 5; console.log(a === 5 ? 'runs' : a);",
        "console.log(import.meta.url === 'file:///work/main.js' ? 'runs' : import.meta.url);",
        "const require = 'runs'; console.log(require);",
        "import { a } from './lib.js'; console.log(a);",
        "import { a } from './types.ts'; console.log(a);",
        "console.log(typeof require === 'function' && this === exports && 'runs'); return;",
    ] {
        let files = [
            ("lib.js", "export const a = 'runs';"),
            ("types.ts", "type A = string; export const a: A = 'runs';"),
        ];
        let (end, shown, complaint) = beside(&files, source);
        assert_eq!((end, &*shown), (End::Exited(0), "runs\n"), "{source}: {complaint}");
    }
}

/// A23: `require` does not load ES modules, said or not, and `import` does afterwards, once.
#[test]
fn modules_are_imported_and_not_required() {
    let files = [
        (
            "lib.js",
            "globalThis.runs = (globalThis.runs || 0) + 1; export const a = import.meta.url;",
        ),
        ("lib.ts", "export const b: number = 2;"),
    ];
    let source = "for (const name of ['./lib', './lib.js', './lib.ts']) try { require(name); } catch (error) { console.log(error.code); }
        import('./lib.js').then(async ({ a }) => { const again = await import('./lib.js'); console.log(a, again.a === a, runs); });";
    let (end, shown, complaint) = beside(&files, source);
    assert_eq!(end, End::Exited(0), "{complaint}");
    assert_eq!(shown, format!("{}file:///work/lib.js true 1\n", "ERR_REQUIRE_ESM\n".repeat(3)));
}

/// A23: errors are where they are in the file, and of two readings the one that came further is told.
#[test]
fn errors_are_where_they_are_in_the_file() {
    for (source, place) in [
        ("throw new Error('x');", "main.js:1:"),
        ("const a = 1;\n  throw new Error('x');", "main.js:2:"),
        ("const a = ;", "main.js:1:11"),
        ("export const a = ;", "main.js:1:18"),
        ("return;\nconst a = ;", "main.js:2:11"),
        ("export const a = 1;\nconst b = ;", "main.js:2:11"),
    ] {
        let (end, _, complaint) = beside(&[], source);
        assert_eq!(end, End::Exited(1), "{source}: {complaint}");
        let column = complaint.split("main.js:1:").nth(1).and_then(|rest| {
            rest.split(|one: char| !one.is_ascii_digit())
                .next()
                .and_then(|number| number.parse::<usize>().ok())
        });
        assert!(complaint.contains(place), "{source}: {complaint}");
        assert!(column.is_none_or(|column| (1..=18).contains(&column)), "{source}: {complaint}");
    }
}
