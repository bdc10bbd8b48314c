//! The Model Context Protocol with what others use: the client library of the npm registry asks our server and our filter, and
//! three servers of that registry run in cages.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::place::Place;

/// Where the packages are installed that tests use, if they are.
fn packages() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents");
    let directory = std::env::var_os("STOCKADE_AGENTS").map_or_else(beside, PathBuf::from);
    let found = directory.join("node_modules").canonicalize();
    let found = found.ok().filter(|found| found.join("@modelcontextprotocol/sdk").exists());
    let is_found = found.is_some() && testing::has("node");
    let reason = "the packages of the Model Context Protocol are not installed in target/agents";
    testing::found_or_skip(is_found, reason);
    found.filter(|_| is_found)
}

/// Connects to what is told, lists tools, makes all calls at one time, and prints what came of it.
const CLIENT: &str = r#"
const [packages, transportOf, calls] = [process.argv[2], JSON.parse(process.argv[3]), JSON.parse(process.argv[4])];
const from = (name) => import(`${packages}/@modelcontextprotocol/sdk/dist/esm/client/${name}.js`);
const { Client } = await from("index");
let transport;
if (transportOf.url) {
  const { StreamableHTTPClientTransport } = await from("streamableHttp");
  transport = new StreamableHTTPClientTransport(new URL(transportOf.url), { requestInit: { headers: transportOf.headers } });
} else {
  const { StdioClientTransport } = await from("stdio");
  transport = new StdioClientTransport({ command: transportOf.words[0], args: transportOf.words.slice(1), env: process.env });
}
const client = new Client({ name: "a test", version: "1" });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
const results = await Promise.all(calls.map(async ([name, given]) => {
  try {
    const result = await client.callTool({ name, arguments: given });
    return (result.isError ? "failed: " : "") + result.content.map((part) => part.text).join("");
  } catch (error) {
    return "threw: " + error.message;
  }
}));
console.log(JSON.stringify({ server: client.getServerVersion()?.name, tools, results }));
await client.close();
process.exit(0);
"#;

/// What the client library has seen.
fn client(place: &Place, packages: &Path, transport: &Value, calls: &Value) -> Value {
    place.write("../client.mjs", CLIENT);
    let stockade = place.stockade_with(&[]);
    let mut command = Command::new("node");
    command.arg(place.project.join("../client.mjs")).arg(packages);
    command.args([transport.to_string(), calls.to_string()]).stdin(Stdio::null());
    command.current_dir(&place.project).env_clear();
    for (name, value) in stockade.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&told)
        .unwrap_or_else(|_| panic!("{told}\n{}", String::from_utf8_lossy(&output.stderr)))
}

fn of_stockade(place: &Place, words: &[&str]) -> Value {
    let program = place.stockade_with(&[]).get_program().to_str().unwrap().to_owned();
    let words: Vec<&str> = [program.as_str()].into_iter().chain(words.iter().copied()).collect();
    json!({ "words": words })
}

/// V21: ten calls at one time through the library, over standard streams and over HTTP.
#[test]
fn the_client_library_of_others_uses_our_tools() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let calls: Vec<Value> = (0..10)
        .map(|number| json!(["exec", { "command": format!("sleep 0.1; echo n{number}") }]))
        .collect();
    let mut calls = json!(calls);
    calls.as_array_mut().unwrap().push(json!(["read", { "path": "sum.py" }]));
    calls.as_array_mut().unwrap().push(json!(["read", { "path": "/etc/shadow" }]));
    calls.as_array_mut().unwrap().push(json!(["write", { "path": "x", "content": "x" }]));
    let expect = |seen: &Value| {
        assert_eq!(
            (&seen["server"], &seen["tools"]),
            (&json!("stockade"), &json!(["exec", "read"]))
        );
        for number in 0..10 {
            let result = seen["results"][number].as_str().unwrap();
            assert!(result.starts_with(&format!("n{number}\n")), "{seen}");
        }
        let result = |number: usize| seen["results"][number].as_str().unwrap();
        assert!(result(10).contains("def add"), "{seen}");
        assert!(result(11).starts_with("failed: ") && result(12).starts_with("threw: "), "{seen}");
    };
    let over_streams = of_stockade(&place, &["mcp", "serve", "--tools", "read,exec"]);
    expect(&client(&place, &packages, &over_streams, &calls));
    let words = ["mcp", "serve", "--listen", "127.0.0.1:0", "--tools", "read,exec"];
    let mut command = place.stockade_with(&words);
    let mut server = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
        if let Some((_, rest)) = line.split_once("http://") {
            break rest.split('/').next().unwrap().to_owned();
        }
    };
    let token = std::fs::read_to_string(place.state().join("stockade/mcp-token")).unwrap();
    let over_http = json!({
        "url": format!("http://{address}/mcp"),
        "headers": { "Authorization": format!("Bearer {}", token.trim()) },
    });
    let seen = client(&place, &packages, &over_http, &calls);
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    server.wait().unwrap();
    expect(&seen);
}

/// T51: three servers of the registry, each with the tools that are named and what its cage has, asked by the library.
#[test]
fn servers_of_others_work_in_cages() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    place.write("docs/a.txt", "alpha");
    let (ro, docs) = (packages.to_str().unwrap(), place.project.join("docs"));
    let docs = docs.to_str().unwrap();
    let program = |name: &str| {
        let path = packages.join(format!("@modelcontextprotocol/{name}/dist/index.js"));
        path.to_str().unwrap().to_owned()
    };
    let wrapped = |tools: &str, flags: &[&str], server: &[&str]| {
        let first = ["mcp", "wrap", "--ro", ro, "--tools", tools];
        of_stockade(&place, &[&first, flags, &["--"], server].concat())
    };
    let filesystem = wrapped(
        "read_text_file,list_directory",
        &["--ro", docs],
        &["node", &program("server-filesystem"), docs],
    );
    let calls = json!([
        ["read_text_file", { "path": format!("{docs}/a.txt") }],
        ["read_text_file", { "path": "/etc/hostname" }],
        ["write_file", { "path": format!("{docs}/b.txt"), "content": "x" }],
    ]);
    let seen = client(&place, &packages, &filesystem, &calls);
    assert_eq!(seen["tools"], json!(["list_directory", "read_text_file"]));
    assert_eq!(seen["results"][0], "alpha", "{seen}");
    assert!(seen["results"][1].as_str().unwrap().starts_with("failed: "), "{seen}");
    assert!(seen["results"][2].as_str().unwrap().starts_with("threw: "), "{seen}");
    assert!(!Path::new(docs).join("b.txt").exists());
    let line = format!("MEMORY_FILE_PATH=/tmp/memory.jsonl exec node {}", program("server-memory"));
    let memory = wrapped("create_entities,read_graph", &[], &["sh", "-c", &line]);
    let entity = json!({ "name": "cage", "entityType": "thing", "observations": ["it holds"] });
    let calls = json!([["create_entities", { "entities": [entity] }]]);
    let seen = client(&place, &packages, &memory, &calls);
    assert!(seen["results"][0].as_str().unwrap().contains("it holds"), "{seen}");
    let thinking =
        wrapped("sequentialthinking", &[], &["node", &program("server-sequential-thinking")]);
    let thought = json!({ "thought": "a cage", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    let seen = client(&place, &packages, &thinking, &json!([["sequentialthinking", thought]]));
    assert!(seen["results"][0].as_str().unwrap().contains("thoughtNumber"), "{seen}");
    let records = place.records();
    let count = |name: &str| records.iter().filter(|record| record["event"] == name).count();
    assert_eq!((count("subagent.spawn"), count("tool.call")), (3, 4), "{records:?}");
}
