//! As much of Google Drive's interface as is used: files by id, in folders, with names that need not be alone, and with
//! properties of their own within the bounds that the service has. An answer has the fields that were asked for.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

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
    modified: String,
    properties: BTreeMap<String, String>,
}

impl File {
    fn new(name: &str, parent: &str, kind: &str) -> Self {
        let (name, parent, kind) = (name.to_owned(), parent.to_owned(), kind.to_owned());
        let (modified, properties) = (now(), BTreeMap::new());
        Self { name, parent, kind, bytes: Vec::new(), modified, properties }
    }

    /// Takes what is said of it; what is not said of its time is that it is now. Returns whether that may be said.
    fn change(&mut self, about: &Value) -> bool {
        if let Some(name) = about["name"].as_str() {
            name.clone_into(&mut self.name);
        }
        self.modified = about["modifiedTime"].as_str().map_or_else(now, str::to_owned);
        for (key, value) in about["appProperties"].as_object().into_iter().flatten() {
            match value.as_str() {
                Some(value) => self.properties.insert(key.clone(), value.to_owned()),
                None => self.properties.remove(key),
            };
        }
        let fits = |(key, value): (&String, &String)| key.len() + value.len() <= 124;
        self.properties.len() <= 30 && self.properties.iter().all(fits)
    }
}

type Files = BTreeMap<String, File>;

/// Returns where it is, and its faults. Tokens are never refused.
pub(crate) fn start() -> (String, Faults) {
    let faults = Faults::default();
    let between = faults.clone();
    let files = Mutex::new(Files::new());
    // A document of an editor, which is no file.
    let document = File::new("document", "root", "application/vnd.google-apps.document");
    files.lock().unwrap().insert("id-document".into(), document);
    files.lock().unwrap().insert("root".into(), File::new("My Drive", "", FOLDER));
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
    let fields = query.get("fields").cloned().unwrap_or_default();
    let about = || serde_json::from_slice::<Value>(&request.body).unwrap();
    match (request.method.as_str(), path) {
        ("GET", "/drive/v3/files") => list(files, &query),
        ("GET", _) if query.get("alt").is_some_and(|kind| kind == "media") => {
            read(files, &id, request)
        }
        ("GET", _) => match files.get(&id) {
            Some(file) => Reply::new(200, shown(&id, file, &fields).to_string()),
            None => Reply::new(404, "{}"),
        },
        ("DELETE", _) => match remove(files, &id) {
            true => Reply::new(204, ""),
            false => Reply::new(404, "{}"),
        },
        ("POST", "/drive/v3/files") => make(files, &about(), Vec::new(), &fields),
        ("POST", "/upload/drive/v3/files") => {
            let (about, bytes) = parts(request);
            make(files, &about, bytes, &fields)
        }
        ("PATCH", path) => {
            let Some(file) = files.get_mut(&id) else { return Reply::new(404, "{}") };
            let mut changed = file.clone();
            let about = if path.starts_with("/upload") {
                let (about, bytes) = parts(request);
                changed.bytes = bytes;
                about
            } else {
                about()
            };
            if let Some(parent) = query.get("addParents") {
                assert_eq!(query["removeParents"], file.parent);
                changed.parent = parent.clone();
            }
            if !changed.change(&about) {
                return Reply::new(400, "{}");
            }
            *file = changed;
            Reply::new(200, shown(&id, file, &fields).to_string())
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
    let fields = query["fields"].split_once("files(").unwrap().1.trim_end_matches(')');
    let property = (quoted("key='"), quoted("value='"));
    let parent = quoted("'").unwrap();
    let name = quoted("name = '");
    let found = files.iter().filter(|(_, file)| match &property {
        (Some(key), Some(value)) => file.properties.get(key) == Some(value),
        _ => file.parent == parent && name.as_ref().is_none_or(|name| *name == file.name),
    });
    // Two a page, so that there are pages.
    let from: usize = query.get("pageToken").map_or(0, |text| text.parse().unwrap());
    let all: Vec<Value> = found.map(|(id, file)| shown(id, file, fields)).collect();
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

fn make(files: &mut Files, about: &Value, bytes: Vec<u8>, fields: &str) -> Reply {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let kind = about["mimeType"].as_str().unwrap_or("application/octet-stream");
    let mut file = File::new(&text(&about["name"]), &text(&about["parents"][0]), kind);
    file.bytes = bytes;
    if !file.change(about) {
        return Reply::new(400, "{}");
    }
    // In the order in which they are made.
    let id = format!("id-{:09}", MADE.fetch_add(1, Ordering::SeqCst));
    let reply = Reply::new(200, shown(&id, &file, fields).to_string());
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

/// What an answer has of a file: what was asked for, and some by itself.
fn shown(id: &str, file: &File, fields: &str) -> Value {
    let mut all = json!({
        "id": id,
        "name": file.name,
        "mimeType": file.kind,
        "modifiedTime": file.modified,
        "parents": [file.parent],
        "trashed": false,
    });
    if !file.properties.is_empty() {
        all["appProperties"] = json!(file.properties);
    }
    if !file.kind.starts_with("application/vnd.google-apps") {
        all["size"] = file.bytes.len().to_string().into();
        all["sha256Checksum"] = hash(&file.bytes).into();
    }
    assert!(file.kind != FOLDER || file.bytes.is_empty());
    let wanted: Vec<&str> = fields.split(',').collect();
    all.as_object_mut().unwrap().retain(|name, _| wanted.contains(&name.as_str()));
    all
}

/// This moment, as the service writes it.
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let (seconds, part) = (since.as_secs(), since.subsec_millis());
    let (mut days, mut year) = (seconds / 86_400, 1970);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (day, hour, minute, second) =
        (days + 1, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{part:03}Z")
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
