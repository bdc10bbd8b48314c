//! Executors that are guests: TypeScript and JavaScript without Node.js in their cage.

use serde_json::json;

use super::executor::Tool;
use super::support::stockade_binary;

/// M1, M9, A26: a manifest's code may be a guest, which has what the manifest gives it and no more.
#[test]
fn a_guest_answers_as_any_executor() {
    if !testing::found_or_skip(
        stockade_binary().with_file_name("stockade-guest").is_file(),
        "stockade-guest is not built",
    ) {
        return;
    }
    let tool = Tool::new("", "");
    let program = "import fs from 'node:fs';
        const args: { word: string } = JSON.parse(fs.readFileSync(0, 'utf8'));
        let refused: string | undefined;
        try { fs.writeFileSync('new', ''); } catch (error) { refused = (error as { code: string }).code; }
        console.log(JSON.stringify({ got: args.word, refused, argv: process.argv.slice(2) }));";
    tool.place.write("tool.mts", program);
    tool.place.write("manifest.toml", "name = \"tool\"\nversion = \"1\"\ncode = \"tool.mts\"\n");
    let called = tool.call("{\"word\": \"yes\"}");
    assert_eq!(*called.result(), json!({ "got": "yes", "refused": "EROFS", "argv": [] }));
    let line = tool.ask(&["wrap", "@"]);
    line.expect_code(0).prints("stockade-guest");
    // Named as an interpreter it runs JavaScript that would have been Node's.
    tool.place.write("tool.js", "console.log(JSON.stringify({ title: process.title }))");
    let lines = "name = \"tool\"\nversion = \"1\"\ncode = \"tool.js\"\ninterpreter = [\"stockade\", \"js\"]\n";
    tool.place.write("manifest.toml", lines);
    assert_eq!(*tool.call("{}").result(), json!({ "title": "stockade-guest" }));
}
