//! Services of the operator as tools of an agent: a command, an address with a key, and what is none.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testing::model_server::{ModelServer, Step};

use crate::place::Place;

fn ask(service: &str, question: &str) -> Step {
    Step::Call { tool: service.to_owned(), arguments: json!({ "question": question }) }
}

/// Answers each request by what is asked of its head, and keeps the heads.
fn answers(each: fn(&str) -> String) -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let begin = head.len();
                stream.read_line(&mut head).unwrap();
                let line = head[begin..].to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            head.push_str(&String::from_utf8(body).unwrap());
            let body = each(&head);
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            if sender.send(head).is_err() {
                return;
            }
        }
    });
    (port, heads)
}

/// V25, V28, V40: those that the person names, outside of the cage, on record, and without a word of the model's on a command
/// line; a key reaches the configured address alone, and an answer with the key in it is none.
#[test]
fn an_agent_asks_the_services_that_it_is_given() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let key = place.configuration().join("search-key");
    let echo = |head: &str| match head.contains("show+me") || head.contains("show%20me") {
        true => format!("you sent {head}"),
        false => "found by address".to_owned(),
    };
    let (port, heads) = answers(echo);
    fs::write(&key, "sk-of-the-search\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "[websearch]\ncommand = [\"sh\", \"-c\", \"echo found:; cat; echo $#; env | grep -c STOCKADE_TEST_KEY; true\"]\n\
         [elsewhere]\nurl = \"http://127.0.0.1:{port}/search?q={{}}\"\nkey = \"file:{}\"\nkey_field = \"x-key\"\n\
         [other]\ncommand = [\"echo\", \"never\"]\n",
        key.display()
    );
    fs::write(place.configuration().join("services.toml"), text).unwrap();
    let steps = [
        Step::Together(vec![
            ask("websearch", "$(id) \"x\""),
            ask("elsewhere", "a cage & more"),
            ask("elsewhere", "show me"),
            ask("other", "x"),
            Step::Call { tool: "websearch".to_owned(), arguments: json!({ "query": "x" }) },
        ]),
        Step::Run(
            "grep -rl sk-of-the-searc[h] /home /tmp /etc $HOME . 2>/dev/null; ls /n 2>&1; true"
                .to_owned(),
        ),
    ];
    let server = ModelServer::start(&steps, "done");
    let ended = place.agent(&server, &["--services", "websearch,elsewhere", "look"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let results = server.results();
    let [command, address, shown, other, wrong, inside] = results.as_slice() else {
        panic!("{results:?}")
    };
    assert!(command.starts_with("found:\n$(id) \"x\"0\n0\n"), "{command}");
    assert_eq!(address, "found by address");
    assert!(shown.starts_with("error:") && !shown.contains("sk-of-the-search"), "{shown}");
    assert!(other.contains("no tool `other`") && wrong.contains("`question`"), "{results:?}");
    assert!(!inside.contains("search-key"), "{inside}");
    let sent: Vec<String> = heads.try_iter().collect();
    assert!(
        sent.iter().any(|head| head.starts_with("GET /search?q=a%20cage%20%26%20more HTTP")),
        "{sent:?}"
    );
    assert!(sent.iter().all(|head| head.contains("x-key: sk-of-the-search")), "{sent:?}");
    let records = place.records();
    let called = records.iter().filter(|record| record["event"] == "tool.call");
    assert_eq!(called.filter(|record| record["tool"] == "elsewhere").count(), 2);
    place.each_file_of_state(&mut |path, bytes| {
        let has = bytes.windows(16).any(|part| part == b"sk-of-the-search");
        assert!(!has, "{}", path.display());
    });
    for (name, why) in [("nothing", "no service `nothing`"), ("read", "is a tool")] {
        let ended = place.agent(&server, &["--services", name, "look"]);
        assert!(ended.code != 0 && ended.stderr.contains(why), "{}", ended.stderr);
    }
}
