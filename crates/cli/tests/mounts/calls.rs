//! Tools and models as files of a cage: what a shell does with them, that a call has what the cage has and no more, and that
//! whoever serves them is no way out.

use std::process::Stdio;

use testing::model_server::ModelServer;

use crate::support::{Ended, Place, has};
use crate::{can_mount, has_guests, shell};

const TOOLS: &[&str] = &["--mount", "/tool=tools:read,list,grep,write,exec"];

/// Asks a tool, as a shell does.
const ASK: &str =
    "ask() { exec 3<> /tool/$1/run || return; printf %s \"$2\" >&3; cat <&3; exec 3>&-; }; ";

fn asks(place: &Place, flags: &[&str], line: &str) -> Ended {
    shell(&mut place.stockade(), &[TOOLS, flags].concat(), &format!("{ASK}{line}"))
}

/// V9, V20, V21, V22: granted tools have directories, calls have their results, and a call does what the cage could do, no more.
#[test]
fn a_shell_uses_tools_through_files() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("notes", "one\ntwo\n");
    place.write("secret", "nobody reads this");
    let script = "ls /tool | tr '\\n' ' '; cat /tool/tools | wc -l; cat /tool/read/doc | head -c 5; echo; \
        ask read '{\"path\":\"notes\"}'; \
        ask read '{\"path\":\"notes\"}' | sed -n '2s/two/again/p'; ask read '{\"path\":\"absent\"}'; ask read '[]'; cat /tool/read/run; \
        ask exec '{\"command\":\"id -u; cat /proc/self/status | grep CapEff\"}'; id -u; \
        ask write '{\"path\":\"notes\",\"content\":\"x\"}'; ask write '{\"path\":\"/tmp/own\",\"content\":\"mine\"}'; cat /tmp/own; echo; \
        test -e /tool/edit && echo UNGRANTED; touch /tool/new 2>/dev/null && echo MADE; rm -rf /tool/read 2>/dev/null && echo GONE";
    let notes = place.project.join("notes");
    let ended = asks(&place, &["--ro", notes.to_str().unwrap()], script);
    ended.expect_code(1);
    ended.prints("exec grep help list read tools write").prints("1\tone").prints("2\tagain");
    ended.prints("error: nothing is at `absent`").prints("error: the arguments are no JSON object");
    ended.prints("error: nothing was asked").prints("CapEff:\t0000000000000000").prints("mine");
    let uids: Vec<&str> = ended.stdout.lines().filter(|line| line.parse::<u32>().is_ok()).collect();
    assert!(uids.len() == 2 && uids[0] == uids[1], "{}", ended.stdout);
    for never in ["UNGRANTED", "MADE", "GONE", "nobody reads"] {
        assert!(!ended.stdout.contains(never), "{never}: {}", ended.stdout);
    }
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "one\ntwo\n");
}

/// V20, A24: a guest asks a tool as a program of its own does, from where the file is; places in it there are none.
#[test]
fn a_guest_uses_tools_through_files() {
    if !can_mount() || !has_guests() {
        return;
    }
    let place = Place::new();
    place.write("notes", "one\ntwo\n");
    let source = "const fs = require('fs');
        const ask = (tool, what) => { const fd = fs.openSync(`/tool/${tool}/run`, 'r+'); fs.writeSync(fd, JSON.stringify(what)); return fd; };
        const fd = ask('read', { path: 'notes' }), bytes = Buffer.alloc(3);
        try { fs.readSync(fd, bytes, 0, 3, 1); } catch (error) { console.log(error.code); }
        console.log(fs.readSync(fd, bytes), fs.readFileSync(fd, 'utf8').includes('two')); fs.closeSync(fd);
        console.log(fs.readFileSync(ask('read', { path: 'absent' }), 'utf8').slice(0, 5));
        fs.promises.open('/tool/list/run', 'r+').then(async (file) => { await file.write('{}'); console.log((await file.readFile('utf8')).includes('notes')); await file.close(); });";
    place.write("ask.js", source);
    let ended = place.ask([&["js", "--ro", "."], TOOLS, &["ask.js"]].concat());
    ended.expect_code(0);
    assert_eq!(ended.stdout, "ESPIPE\n3 true\nerror\ntrue\n");
}

/// V21: ten calls at once give ten right results; a call that nobody waits for any more is ended with its file.
#[test]
fn ten_calls_at_once_and_one_that_is_given_up() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let script = "for n in 0 1 2 3 4 5 6 7 8 9; do (ask exec \"{\\\"command\\\":\\\"sleep 0.2; echo of $n\\\"}\" \
        > /tmp/$n) & done; wait; cat /tmp/[0-9] | grep of | tr '\\n' ' '; \
        (ask exec '{\"command\":\"sleep $((70+7))\"}') & sleep 0.5; pgrep -f 'sleep 7[7]' > /dev/null && echo begun; kill -9 $!; pkill -9 cat; \
        for n in 1 2 3 4 5 6 7 8 9; do sleep 0.2; pgrep -f 'sleep 7[7]' > /dev/null || { echo ended; break; }; done";
    let ended = asks(&place, &[], script);
    let all: String = (0..10).map(|number| format!("of {number} ")).collect();
    ended.prints(&all).prints("begun").prints("ended");
}

/// V22: the process that serves calls has nothing that its cage's program has not, and cannot be traced by it; large results go
/// to a file with a preview.
#[test]
fn whoever_serves_is_no_way_further() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let script = "server=$(pgrep -f serve-inside | head -1); test -n \"$server\" && echo serves; \
        ls /proc/$server/fd > /dev/null 2>&1 && echo OPEN; head -c 1 /proc/$server/mem > /dev/null 2>&1 && echo READ; \
        grep -h CapEff /proc/$server/status; grep -h NoNewPrivs /proc/$server/status; \
        seq 1 20000 > /tmp/big; ask read '{\"path\":\"/tmp/big\",\"limit\":9000}' | grep -o '/scratch/results/read-1.txt' | head -1; wc -l < /scratch/results/read-1.txt";
    let ended = asks(&place, &[], script);
    ended
        .expect_code(0)
        .prints("serves")
        .prints("CapEff:\t0000000000000000")
        .prints("NoNewPrivs:\t1");
    ended.prints("/scratch/results/read-1.txt");
    assert!(!ended.stdout.contains("OPEN") && !ended.stdout.contains("READ"), "{}", ended.stdout);
}

/// V31: a session of `/n/llm` asks the configured model, its key is outside, and nobody finds a session by listing.
#[test]
fn a_model_is_asked_through_files() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&[], "Hello from outside.");
    let script = "cd /n/llm && ls | tr '\\n' ' '; cat models | wc -c; name=$(cat new); echo ${#name}; echo claude-test > $name/model; \
        echo 'be short' > $name/system; exec 3<> $name/ask; echo hello >&3; cat <&3; exec 3>&-; cat $name/usage | grep answers; \
        ls /n/llm | grep -c $name; env | grep -c sk-of-the; exec 3<> $name/stream; echo again >&3; cat <&3; \
        echo close > $name/ctl; ls $name 2>/dev/null || echo closed";
    let mut command = place.stockade();
    command.env("ANTHROPIC_API_KEY", "sk-of-the-operator").env("ANTHROPIC_BASE_URL", server.url());
    let flags = ["--mount", "/n=services:llm", "--host-port", "model"];
    let ended = shell(&mut command, &flags, script);
    // The server of the test lists none; that the other provider is not configured is no error.
    ended.expect_code(0).prints("models new 0\n").prints("32\n").prints("ok\nanswers 1\n0\n0\n");
    ended.prints("closed");
    let mut requests = server.requests();
    requests.retain(|request| request["body"]["messages"].is_array());
    assert_eq!(requests.len(), 2, "{requests:?}");
    let second = requests[1]["body"].to_string();
    assert!(second.contains("hello") && second.contains("again"), "{second}");
    assert!(requests[0]["headers"].to_string().contains("sk-of-the-operator"));
    let without = shell(&mut place.stockade(), &flags[..2], "cat /n/llm/models");
    without.prints("error: there is no model service").prints("host_ports");
}

/// V25, V28, V40, T45: a cage asks the services that its policy names, and reaches no other; a service has its question as input
/// alone, keeps to its time and its count, and is on record.
#[test]
fn services_of_the_operator_are_asked_through_files() {
    if !can_mount() || !has("python3") {
        return;
    }
    let place = Place::new();
    let directory = place.home.join(".config/stockade");
    std::fs::create_dir_all(&directory).unwrap();
    let text = "[websearch]\ndoc = \"Looks for it.\"\ncommand = [\"sh\", \"-c\", \"echo found; cat; echo; echo $#; test -e /n || echo outside\"]\n\
                [slow]\ncommand = [\"sh\", \"-c\", \"sleep 71 & sleep 71\"]\ntime = \"1s\"\n\
                [once]\ncommand = [\"echo\", \"said\"]\ncalls = 1\n\
                [secret]\ncommand = [\"echo\", \"treasure\"]\n";
    std::fs::write(directory.join("services.toml"), text).unwrap();
    let ask = "ask() { exec 3<> /n/$1/ask || return; printf %s \"$2\" >&3; cat <&3; exec 3>&-; }; ";
    let direct = "import urllib.request as u; o = u.build_opener(u.ProxyHandler({}))\n\
                  try: print(o.open('http://127.0.0.1:3129/services/secret', b'x').read())\n\
                  except u.HTTPError as e: print('direct', e.code)";
    let script = format!(
        "{ask} ls /n | tr '\\n' ' '; cat /n/websearch/doc; ask websearch '$(id); x'; ask slow x; ask once a; ask once b; \
         cat /n/websearch/ask; ls /n/secret 2>/dev/null && echo SECRET; python3 -c \"{direct}\"; \
         for n in 1 2 3 4 5; do (ask websearch n$n > /tmp/r$n) & done; wait; cat /tmp/r* | grep -c '^n[1-5]$'"
    );
    let flags = ["--mount", "/n=services:websearch,slow,once", "--host-port", "model"];
    let ended = shell(&mut place.stockade(), &flags, &script);
    ended.expect_code(0).prints("once slow websearch ").prints("Looks for it.\n");
    ended.prints("found\n$(id); x\n0\noutside\n").prints("error: the service took too long");
    ended.prints("said\nerror: this cage has asked 1 times").prints("error: nothing was asked");
    ended.prints("direct 404").prints("\n5\n");
    for never in ["SECRET", "treasure"] {
        assert!(!ended.stdout.contains(never), "{}", ended.stdout);
    }
    let records = place.records();
    let calls = records.iter().filter(|record| record["event"] == "tool.call");
    assert_eq!(calls.filter(|record| record["tool"] == "/n/websearch").count(), 6, "{records:?}");
    let left = std::process::Command::new("pgrep").args(["-f", "sleep 7[1]"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{:?}", String::from_utf8_lossy(&left.stdout));
    for (mount, why) in [
        ("/n=services:nobody", "no service `nobody`; there are llm, once, secret, slow, websearch"),
        ("/tool=tools:nosuch,read", "no tool `nosuch`; there are read, list"),
    ] {
        let unknown = shell(&mut place.stockade(), &["--mount", mount], "echo ran");
        unknown.says(why);
        assert!(!unknown.stdout.contains("ran"), "{}", unknown.stdout);
        place.ask(["check", "--mount", mount, "--", "true"]).says(why);
    }
}

/// What is useless or dangerous together is said where a cage is looked at.
#[test]
fn useless_and_dangerous_calls_are_said_by_check() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir_all(place.home.join(".ssh")).unwrap();
    let ssh = place.home.join(".ssh");
    let check = |flags: &[&str]| place.ask([&["check"], flags].concat());
    let tools = ["--mount", "/tool=tools:edit,http,exec", "--mount", "/n=services:llm"];
    let useless = check(&[&tools[..], &["--ro", "."][..]].concat());
    useless.says("`edit` can change nothing but memory").says("`http` can reach nothing");
    useless.says("`/n`: no service can be asked");
    check(&["--mount", "/n=services:nobody"]).says("no service `nobody`");
    let dangerous =
        [&tools[..2], &["--ro", ssh.to_str().unwrap(), "--net", "**.example.org"][..]].concat();
    check(&dangerous).says("can be read while `**.example.org` can be reached");
    check(&["--mount", "/tool=tools:raed"]).says("there is no tool `raed`");
    let sound = check(&["--mount", "/tool=tools:read", "--ro", "."]);
    assert!(!sound.stderr.contains("`/tool`"), "{}", sound.stderr);
}

/// V29: the same tools over 9P, run in a cage that ends with the server.
#[test]
fn tools_are_served_over_9p() {
    if !has("python3") {
        return;
    }
    let place = Place::new();
    place.write("notes", "one\n");
    let socket = place.outside().join("tools.sock");
    let mut command = place.stockade();
    command.args(["fs", "serve", "--9p"]).arg(&socket).arg("tools:read,list").stdin(Stdio::null());
    let mut server = command.spawn().unwrap();
    let client = std::process::Command::new("python3").arg("-c").arg(CLIENT).arg(&socket).output();
    let signalled = std::process::Command::new("kill").arg(server.id().to_string()).status();
    let ended = server.wait().unwrap();
    let client = Ended::of(client.unwrap());
    client
        .expect_code(0)
        .prints("1\tone")
        .prints("error: nothing is at `absent`")
        .prints("read,list");
    assert!(signalled.unwrap().success() && ended.success(), "{ended:?}");
}

/// A client of 9P2000.L that asks the tool `read` two things.
const CLIENT: &str = r#"
import os, socket, struct, sys, time
for _ in range(200):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); break
    except OSError:
        time.sleep(0.1)
def call(kind, body):
    s.sendall(struct.pack("<IBH", 7 + len(body), kind, 1) + body)
    size = struct.unpack("<I", s.recv(4, socket.MSG_WAITALL))[0]
    data = s.recv(size - 4, socket.MSG_WAITALL)
    if data[0] != kind + 1:
        raise OSError(data)
    return data[3:]
def text(word):
    return struct.pack("<H", len(word)) + word.encode()
call(100, struct.pack("<I", 65536) + text("9P2000.L"))
call(104, struct.pack("<II", 0, 0xffffffff) + text("") + text("") + struct.pack("<I", os.getuid()))
def opened(fid, names, flags):
    call(110, struct.pack("<IIH", 0, fid, len(names)) + b"".join(text(name) for name in names))
    call(12, struct.pack("<II", fid, flags))
def read(fid):
    data, offset = b"", 0
    while True:
        part = call(116, struct.pack("<IQI", fid, offset, 4096))[4:]
        if not part:
            return data.decode()
        data += part; offset += len(part)
def ask(fid, question):
    opened(fid, ["read", "run"], 2)
    question = question.encode()
    call(118, struct.pack("<IQI", fid, 0, len(question)) + question)
    print(read(fid))
    call(120, struct.pack("<I", fid))
ask(1, '{"path":"notes"}')
ask(2, '{"path":"absent"}')
opened(3, ["tools"], 0)
print(",".join(line.split()[0] for line in read(3).splitlines()))
"#;
