//! The tree of tools: who has a directory, what the texts say, what a call comes to.

use std::sync::Arc;

use model::Cancel;
use serde_json::{Map, Value, json};
use tools::protocol::Described;

use super::{RunsTools, Toolbox};
use crate::tree::{Node, Opened, ROOT, Tree as _};

struct Echo;

impl RunsTools for Echo {
    fn run(&self, tool: &str, arguments: &Map<String, Value>, _: &Cancel) -> String {
        format!("{tool} {}", Value::Object(arguments.clone()))
    }
}

fn toolbox() -> Toolbox {
    let tool = |name: &str| Described {
        name: name.to_owned(),
        doc: format!("Does {name}. At length."),
        schema: json!({ "type": "object" }),
    };
    let by: Arc<dyn RunsTools> = Arc::new(Echo);
    Toolbox::new(&[tool("read"), tool("exec")], &by)
}

fn at(toolbox: &Toolbox, path: &str) -> Option<u64> {
    path.split('/').try_fold(ROOT, |directory, name| toolbox.child(directory, name.as_bytes()))
}

fn contents(toolbox: &Toolbox, path: &str, question: &str) -> String {
    match toolbox.open(at(toolbox, path).unwrap()).unwrap() {
        Opened::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
        Opened::Stream(stream) => {
            stream.write(question.as_bytes()).unwrap();
            let mut bytes = vec![0; 4096];
            let count = stream.read(&mut bytes, &|| false).unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        }
    }
}

/// V20: `tools` and `help` tell the granted tools, and a tool that was not granted has no directory.
#[test]
fn granted_tools_have_directories_and_no_others() {
    let toolbox = toolbox();
    assert_eq!(contents(&toolbox, "tools", ""), "read     Does read\nexec     Does exec\n");
    assert!(contents(&toolbox, "help", "").ends_with("exec     Does exec\n"));
    assert_eq!(contents(&toolbox, "read/doc", ""), "Does read. At length.\n");
    assert!(contents(&toolbox, "exec/schema", "").contains("\"object\""));
    assert_eq!((at(&toolbox, "write"), at(&toolbox, "read/other")), (None, None));
    let names: Vec<String> = toolbox.names(ROOT).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["tools", "help", "read", "exec"]);
    // Whatever number is made up leads nowhere, or to what a name leads to.
    let known = (0..64).filter(|number| toolbox.node(*number).is_some()).count();
    assert_eq!(known, 3 + 2 * 4);
    assert_eq!(toolbox.node(at(&toolbox, "read/run").unwrap()), Some(Node::Stream));
}

/// V21: the arguments reach the tool of the directory; what is no object is an error in words.
#[test]
fn a_call_reaches_its_tool() {
    let toolbox = toolbox();
    assert_eq!(
        contents(&toolbox, "exec/run", "{\"command\":\"id\"}\n"),
        "exec {\"command\":\"id\"}\n"
    );
    for wrong in ["[1]", "{", "text"] {
        let said = contents(&toolbox, "read/run", wrong);
        assert!(said.starts_with("error: the arguments are no JSON object"), "{said}");
    }
}
