//! What the tools of the web send and show, against a server of this test, and what markup becomes.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Http, WebFetch, text};
use crate::tool::{Call, Reader, Tool, World};
use crate::{Root, Shell, Spill};

/// Answers each connection with the next text, and returns what was asked.
fn server(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            let is_whole = |bytes: &[u8]| match bytes.starts_with(b"POST") {
                true => bytes.ends_with(b"\r\n\r\nthe end"),
                false => bytes.ends_with(b"\r\n\r\n"),
            };
            while !is_whole(&bytes) {
                let mut part = [0; 1024];
                let count = stream.read(&mut part).unwrap();
                assert_ne!(count, 0, "{}", String::from_utf8_lossy(&bytes));
                bytes.extend_from_slice(&part[..count]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            asked.push(String::from_utf8(bytes).unwrap());
        }
        asked
    });
    (address, serving)
}

fn call(tool: &dyn Tool, arguments: &Value) -> String {
    let directory = tempfile::tempdir().unwrap();
    let root =
        Root::open(directory.path(), std::path::Path::new("/"), std::path::Path::new("/")).unwrap();
    let world = World::new(root, Spill::new(None, 30_000), Shell::default());
    let call = Call {
        world: &world,
        reader: Reader::Anybody,
        until: Instant::now() + Duration::from_secs(10),
        is_cancelled: &|| false,
        progress: &|_| {},
    };
    match tool.call(arguments.as_object().unwrap(), &call) {
        Ok(spilled) => spilled.text,
        Err(error) => error.to_string(),
    }
}

/// V25: what is sent is what was asked for and no field of the connection; the answer is shown as it is.
#[test]
fn a_request_is_sent_and_its_answer_shown() {
    let (address, serving) =
        server(vec!["HTTP/1.1 201 Made\r\nx-kind: y\r\ncontent-length: 4\r\n\r\nmade".to_owned()]);
    let shown = call(
        &Http,
        &json!({ "url": format!("{address}/a?b=c"), "method": "post", "body": "the end",
            "headers": [{ "name": "X-Own", "value": "1" }] }),
    );
    assert!(
        shown.starts_with("201 http://127.0.0.1")
            && shown.contains("x-kind: y\ncontent-length: 4\n\nmade"),
        "{shown}"
    );
    let asked = serving.join().unwrap().pop().unwrap();
    assert!(
        asked.starts_with("POST /a?b=c HTTP/1.1\r\n") && asked.ends_with("\r\n\r\nthe end"),
        "{asked}"
    );
    assert!(asked.contains("X-Own: 1\r\n") && asked.contains("content-length: 7\r\n"), "{asked}");
    for wrong in [
        json!({ "url": "file:///etc/passwd" }),
        json!({ "url": "http://h/", "method": "TRACE" }),
        json!({ "url": "http://h/", "headers": [{ "name": "Host", "value": "x" }] }),
        json!({ "url": "http://h/", "headers": [{ "name": "a", "value": "b\r\nc: d" }] }),
    ] {
        assert!(call(&Http, &wrong).starts_with("error:"), "{wrong}");
    }
}

/// V25: redirects are followed, a few of them, and a page becomes text.
#[test]
fn a_page_is_read_as_text() {
    let redirect = "HTTP/1.1 302 There\r\nlocation: /page\r\ncontent-length: 0\r\n\r\n".to_owned();
    let page = "<html><title>T</title><script>if (a < b) {}</script><p>one <b>two</b></p><a href='/x?a&amp;b'>link</a>";
    let page = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
    let (address, serving) = server(vec![redirect.clone(), page]);
    let shown = call(&WebFetch, &json!({ "url": address }));
    assert!(shown.contains("/page (text/html)\n\nT\n\none two\nlink (/x?a&b)\n"), "{shown}");
    assert_eq!(serving.join().unwrap().len(), 2);
    let (address, _serving) = server(vec![redirect; 6]);
    assert!(call(&WebFetch, &json!({ "url": address })).contains("without end"));
    assert!(call(&WebFetch, &json!({ "url": "http://127.0.0.1:1/" })).starts_with("error:"));
}

/// V25: markup that is cut off or means to confuse ends as text.
#[test]
fn markup_of_any_kind_becomes_text() {
    for (markup, shown) in [
        ("a &lt;b&gt; &#65;&#x42; &nope; &", "a <b> AB &nope; &\n"),
        ("<ul><li>1<li>2</ul>x", "- 1\n- 2\nx\n"),
        ("<!-- <p>no</p> -->yes<", "yes\n"),
        ("<SCRIPT>x</script >y", "y\n"),
        ("<style>never ends", ""),
        ("<h2>T</h2><table><tr><td>1<td>2</table>", "# T\n\n| 1 | 2\n"),
        ("<a href=#top>up</a>", "up\n"),
    ] {
        assert_eq!(text::of_markup(markup).trim_start_matches('\n'), shown, "{markup}");
    }
}
