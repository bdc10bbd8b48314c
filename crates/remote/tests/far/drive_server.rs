//! As much of Google Drive's interface as is used: files by id, in folders, with names that need not be alone.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::behaviour::SECRET;
use crate::faults::Faults;
use crate::server::{self, Reply, Request};

const FOLDER: &str = "application/vnd.google-apps.folder";
const TOKEN: &str = "an-access-token";

#[derive(Clone)]
struct File {
    name: String,
    parent: String,
    kind: String,
    bytes: Vec<u8>,
}

type Files = BTreeMap<String, File>;

/// Returns where it is, and its faults. Tokens are never refused.
pub(crate) fn start() -> (String, Faults) {
    let faults = Faults::default();
    let between = faults.clone();
    let files = Mutex::new(Files::new());
    // A document of an editor, which is no file.
    let document = File {
        name: "document".into(),
        parent: "root".into(),
        kind: "application/vnd.google-apps.document".into(),
        bytes: Vec::new(),
    };
    files.lock().unwrap().insert("id-document".into(), document);
    let address = server::serve(move |request| {
        if request.path == "/token" {
            return server::Outcome::Reply(token(&request));
        }
        between.answer(request, &|request| answer(&mut files.lock().unwrap(), request))
    });
    (address, faults)
}

fn token(request: &Request) -> Reply {
    let body = String::from_utf8(request.body.clone()).unwrap();
    let is_right = body.contains(&format!("refresh_token={SECRET}"));
    if !is_right {
        return Reply::new(400, r#"{"error": "invalid_grant"}"#);
    }
    Reply::new(200, json!({ "access_token": TOKEN, "expires_in": 3599 }).to_string())
}

fn answer(files: &mut Files, request: &Request) -> Reply {
    if request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return Reply::new(401, "{}");
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let query: BTreeMap<String, String> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), unescaped(value)))
        .collect();
    let id = path.rsplit('/').next().unwrap().to_owned();
    let about = || serde_json::from_slice::<Value>(&request.body).unwrap();
    match (request.method.as_str(), path) {
        ("GET", "/drive/v3/files") => list(files, &query),
        ("GET", _) if query.get("alt").is_some_and(|kind| kind == "media") => {
            read(files, &id, request)
        }
        ("GET", _) => match files.get(&id) {
            Some(file) => Reply::new(200, shown(&id, file).to_string()),
            None => Reply::new(404, "{}"),
        },
        ("DELETE", _) => match remove(files, &id) {
            true => Reply::new(204, ""),
            false => Reply::new(404, "{}"),
        },
        ("POST", "/drive/v3/files") => make(files, &about(), Vec::new()),
        ("POST", "/upload/drive/v3/files") => {
            let (about, bytes) = parts(request);
            make(files, &about, bytes)
        }
        ("PATCH", path) => {
            let Some(file) = files.get_mut(&id) else { return Reply::new(404, "{}") };
            if path.starts_with("/upload") {
                file.bytes = request.body.clone();
            } else {
                file.name = about()["name"].as_str().unwrap().to_owned();
                if let Some(parent) = query.get("addParents") {
                    file.parent = parent.clone();
                }
            }
            Reply::new(200, shown(&id, file).to_string())
        }
        _ => Reply::new(400, "{}"),
    }
}

fn list(files: &Files, query: &BTreeMap<String, String>) -> Reply {
    let wanted = &query["q"];
    let quoted = |from: &str| {
        let text = wanted.split_once(from)?.1;
        let mut all = String::new();
        let mut signs = text.chars();
        loop {
            match signs.next()? {
                '\\' => all.push(signs.next()?),
                '\'' => return Some(all),
                sign => all.push(sign),
            }
        }
    };
    let parent = quoted("'").unwrap();
    let name = quoted("name = '");
    let found = files.iter().filter(|(_, file)| {
        file.parent == parent && name.as_ref().is_none_or(|name| *name == file.name)
    });
    // Two a page, so that there are pages.
    let from: usize = query.get("pageToken").map_or(0, |text| text.parse().unwrap());
    let all: Vec<Value> = found.map(|(id, file)| shown(id, file)).collect();
    let page: Vec<&Value> = all.iter().skip(from).take(2).collect();
    let mut answer = json!({ "files": page });
    if from + 2 < all.len() {
        answer["nextPageToken"] = (from + 2).to_string().into();
    }
    Reply::new(200, answer.to_string())
}

fn read(files: &Files, id: &str, request: &Request) -> Reply {
    let Some(file) = files.get(id) else { return Reply::new(404, "{}") };
    let range = request.header("range").and_then(|range| range.strip_prefix("bytes="));
    let Some((from, to)) = range.and_then(|range| range.split_once('-')) else {
        return Reply::new(200, file.bytes.clone());
    };
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    if from >= file.bytes.len() {
        return Reply::new(416, "");
    }
    let to = to.min(file.bytes.len() - 1);
    let mut reply = Reply::new(206, &file.bytes[from..=to]);
    let range = format!("bytes {from}-{to}/{}", file.bytes.len());
    reply.headers.push(("content-range".into(), range));
    reply
}

fn make(files: &mut Files, about: &Value, bytes: Vec<u8>) -> Reply {
    let id = format!(
        "id-{:06}",
        files.len() + 1 + files.values().map(|it| it.bytes.len()).sum::<usize>()
    );
    let id = format!("{id}-{}", about["name"].as_str().unwrap().len());
    let file = File {
        name: about["name"].as_str().unwrap().to_owned(),
        parent: about["parents"][0].as_str().unwrap().to_owned(),
        kind: about["mimeType"].as_str().unwrap_or("application/octet-stream").to_owned(),
        bytes,
    };
    let mut id = id;
    while files.contains_key(&id) {
        id.push('x');
    }
    let reply = Reply::new(200, shown(&id, &file).to_string());
    files.insert(id, file);
    reply
}

fn remove(files: &mut Files, id: &str) -> bool {
    let below: Vec<String> =
        files.iter().filter(|(_, file)| file.parent == id).map(|(id, _)| id.clone()).collect();
    for below in below {
        remove(files, &below);
    }
    files.remove(id).is_some()
}

fn shown(id: &str, file: &File) -> Value {
    let mut all = json!({
        "id": id,
        "name": file.name,
        "mimeType": file.kind,
        "modifiedTime": "2026-11-18T20:15:03.120Z",
    });
    if !file.kind.starts_with("application/vnd.google-apps") {
        all["size"] = file.bytes.len().to_string().into();
        all["sha256Checksum"] = hash(&file.bytes).into();
    }
    assert!(file.kind != FOLDER || file.bytes.is_empty());
    all
}

fn hash(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The two parts of an upload.
fn parts(request: &Request) -> (Value, Vec<u8>) {
    let line = request.header("content-type").unwrap().split_once("boundary=").unwrap().1;
    let (start, between, end) =
        (format!("--{line}\r\n"), format!("\r\n--{line}\r\n"), format!("\r\n--{line}--\r\n"));
    let body = request.body.strip_prefix(start.as_bytes()).unwrap();
    let body = body.strip_suffix(end.as_bytes()).unwrap();
    let at = find(body, between.as_bytes());
    let after_head = |part: &[u8]| part[find(part, b"\r\n\r\n") + 4..].to_vec();
    let about = after_head(&body[..at]);
    (serde_json::from_slice(&about).unwrap(), after_head(&body[at + between.len()..]))
}

fn find(text: &[u8], wanted: &[u8]) -> usize {
    text.windows(wanted.len()).position(|part| part == wanted).unwrap()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}
