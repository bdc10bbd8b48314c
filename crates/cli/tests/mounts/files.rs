//! What programs do with files on each kind of mount.

use std::process::Command;

use crate::support::{self, Place, has};
use crate::{
    azure_server, behaviour, can_mount, configured, drive_server, has_guests, private, s3_server,
    shell, with_drive,
};

/// What is the same everywhere: nothing that an object store refuses.
const SCRIPT: &str = r#"
set -e
cd "$1"
mkdir d; printf 'one\ntwo\nthree\n' > d/text; wc -l < d/text; sort -r d/text | head -1
echo four >> d/text; tail -1 d/text; mv d/text d/other; ls d; rm d/other; rmdir d; ls | wc -l
printf x > here; test -O here && echo mine; rm here
python3 - <<'END'
import os, json
os.makedirs('a/b')
with open('a/b/data.json', 'w') as file: json.dump(list(range(50000)), file)
with open('a/b/data.json') as file: print(sum(json.load(file)))
with open('a/b/data.json', 'r+b') as file:
    file.seek(1000); file.write(b'#####'); file.seek(998); print(file.read(9))
print(sorted(os.listdir('a')), os.path.getsize('a/b/data.json'))
try: open('a/missing')
except FileNotFoundError as error: print(error.errno)
os.remove('a/b/data.json'); os.rmdir('a/b'); os.rmdir('a')
END
"#;

const NODE: &str = r#"
const fs = require('fs');
fs.mkdirSync('m/n', { recursive: true });
fs.writeFileSync('m/n/f', 'x'.repeat(100000));
fs.appendFileSync('m/n/f', 'end');
const found = fs.statSync('m/n/f');
console.log(found.size, found.isFile(), fs.readdirSync('m'), fs.readFileSync('m/n/f', 'utf8').slice(-4));
fs.truncateSync('m/n/f', 10); console.log(fs.statSync('m/n/f').size);
fs.renameSync('m/n/f', 'm/g'); console.log(fs.existsSync('m/n/f'), fs.existsSync('m/g'));
fs.rmSync('m', { recursive: true });
try { fs.statSync('m'); } catch (error) { console.log(error.code); }
"#;

/// Runs the scripts in one cage on each of these, which are names and mounts; all give the same.
#[track_caller]
fn scripts_agree(place: &Place, mut command: Command, on: &[(&str, &str)]) {
    place.write("script.sh", SCRIPT);
    place.write("script.js", NODE);
    let mounts: Vec<String> = on.iter().map(|(name, from)| format!("/mnt/{name}={from}")).collect();
    let mut flags = vec!["--rw", "."];
    for mount in &mounts {
        flags.extend(["--mount", mount]);
    }
    let node =
        if testing::find("node").is_some() { "cd $at; node $here/script.js" } else { "true" };
    let names: Vec<&str> = on.iter().map(|(name, _)| *name).collect();
    let line = format!(
        "here=$PWD; for name in {}; do at=/mnt/$name; echo \"== $name\"; (sh script.sh $at; {node}) 2>&1; done",
        names.join(" ")
    );
    let ended = shell(&mut command, &flags, &line);
    ended.expect_code(0);
    let parts: Vec<(&str, &str)> =
        ended.stdout.split("== ").skip(1).map(|part| part.split_once('\n').unwrap()).collect();
    assert_eq!(parts.len(), on.len(), "{}", ended.stdout);
    let (_, expected) = parts[0];
    assert!(expected.contains("1249975000"), "{expected}");
    for (name, result) in &parts {
        assert_eq!(result, &expected, "{name}\n{}", ended.stderr);
    }
}

/// What a guest makes in a bucket is there as a program of the processor makes it.
fn guests_write(place: &Place) {
    if !has_guests() {
        return;
    }
    let source = "const fs = require('fs'), at = '/mnt/b/guest';
        fs.mkdirSync(at, { mode: 0o700 }); fs.writeFileSync(`${at}/new`, '1'); fs.appendFileSync(`${at}/new`, '2');
        fs.appendFileSync(`${at}/other`, '3', { mode: 0o600 }); fs.copyFileSync(`${at}/new`, `${at}/copy`); fs.writeFileSync(`${at}/copy`, '4', { flag: 'a' });
        for (const name of fs.readdirSync(at)) console.log(name, fs.readFileSync(`${at}/${name}`, 'utf8'));
        fs.chmodSync(`${at}/new`, 0o600);
        fs.rmSync(at, { recursive: true });";
    place.write("guest.js", source);
    let mount = "/mnt/b=s3://bucket/some/where,rw";
    let ended = place.ask(["js", "--ro", ".", "--mount", mount, "guest.js"]);
    ended.expect_code(0);
    assert_eq!(ended.stdout, "copy 124\nnew 12\nother 3\n");
}

/// A11, A14, A15, A24: the same scripts in memory, a store and a drive, all in one cage.
#[test]
fn the_same_scripts_give_the_same_results_on_each() {
    if !can_mount() || !has("python3") {
        return;
    }
    let place = Place::new();
    let (drive, _) = drive_server::start();
    let command = with_drive(&place, &drive);
    let on = [("memory", "memory:"), ("store", "store:data.db,rw"), ("drive", "gdrive:root,rw")];
    scripts_agree(&place, command, &on);
}

/// A13: a name with control characters, which somebody else put into a drive, keeps nobody from the other files, and is
/// neither shown nor passed over in silence.
#[test]
fn a_name_that_no_path_has_hides_no_other() {
    use std::io::{Read as _, Write as _};
    let place = Place::new();
    let (drive, _) = drive_server::start();
    let stockade = |words: &[&str]| {
        let mut command = with_drive(&place, &drive);
        support::Ended::of(command.arg("fs").args(words).output().unwrap())
    };
    place.write("f", "from the host");
    stockade(&["put", "f", "gdrive:root:zebra"]).expect_code(0);
    stockade(&["ls", "gdrive:root:"]).expect_code(0);
    let mut server = std::net::TcpStream::connect(drive.strip_prefix("http://").unwrap()).unwrap();
    let file = r#"{"name": "a\u001b[2J", "parents": ["root"]}"#;
    write!(
        server,
        "POST /drive/v3/files HTTP/1.1\r\nhost: drive\r\nauthorization: Bearer an-access-token\r\n\
         content-length: {}\r\n\r\n{file}",
        file.len()
    )
    .unwrap();
    let mut made = [0; 12];
    server.read_exact(&mut made).unwrap();
    assert_eq!(&made, b"HTTP/1.1 200");
    for words in [["ls", "gdrive:root:"], ["tree", "gdrive:root:"]] {
        let ended = stockade(&words);
        ended.expect_code(1).prints("zebra").says("1 names with control characters");
        assert!(!ended.stdout.contains('\u{1b}') && !ended.stderr.contains('\u{1b}'));
    }
    stockade(&["get", "-r", "gdrive:root:", "copied"]).expect_code(1).says("left out");
    assert_eq!(
        std::fs::read_to_string(place.project.join("copied/zebra")).unwrap(),
        "from the host"
    );
}

/// A13, A24: the same in a bucket by each of the two interfaces, with a key of the user's own files and one of a command.
#[test]
fn the_same_scripts_give_the_same_results_in_buckets() {
    if !can_mount() || !has("python3") {
        return;
    }
    let Some(server) = s3_server::start() else { return };
    s3_server::make_bucket(&server);
    let place = Place::new();
    let address = format!("http://{}", server.address);
    private(
        &place.home.join(".aws/credentials"),
        &format!(
            "[work]\naws_access_key_id = key-id\naws_secret_access_key = {}\n",
            behaviour::SECRET
        ),
    );
    configured(
        &place,
        &format!(
            "[s3]\nendpoint = \"{address}\"\nprofile = \"work\"\n\
             [gs]\nendpoint = \"{address}\"\nkey_id = \"command:echo key-id\"\nkey = \"command:echo {}\"\n",
            behaviour::SECRET
        ),
    );
    let on = [
        ("memory", "memory:"),
        ("bucket", "s3://bucket/some/where,rw"),
        ("google", "gs://bucket/else/where,rw"),
    ];
    scripts_agree(&place, place.stockade(), &on);
    guests_write(&place);
    // From the host, by the same configuration.
    place.write("f", "from the host");
    place.ask(["fs", "put", "f", "s3://bucket/some/where/f"]).expect_code(0);
    let flags = ["--ro", ".", "--mount", "/mnt/b=s3://bucket/some"];
    place.shell(&flags, "cat /mnt/b/where/f").expect_code(0).prints("from the host");
    place.ask(["fs", "ls", "s3://bucket/some/where"]).expect_code(0).prints(" 13 ");
    place.ask(["fs", "rm", "-r", "s3://bucket/some"]).expect_code(0);
    place.ask(["fs", "cat", "s3://bucket/some/where/f"]).expect_code(1).says("has no");
    let flags = ["--ro", ".", "--mount", "/mnt/b=s3://another-bucket/some"];
    let ended = place.shell(&flags, "echo ran");
    ended.expect_code(122).says("there is no bucket `another-bucket`");
    place.ask(["fs", "ls", "s3://another-bucket/"]).expect_code(122).says("there is no bucket");
}

/// A13, A24: the same in a container of Azure's.
#[test]
fn the_same_scripts_give_the_same_results_in_a_container() {
    if !can_mount() || !has("python3") {
        return;
    }
    let Some(server) = azure_server::start() else { return };
    let place = Place::new();
    private(&place.home.join("azure.key"), azure_server::KEY);
    configured(
        &place,
        &format!(
            "[az]\nendpoint = \"http://{}/account\"\naccount = \"account\"\nkey = \"file:{}\"\n",
            server.address,
            place.home.join("azure.key").display()
        ),
    );
    let on = [("memory", "memory:"), ("container", "az://container/some/where,rw")];
    scripts_agree(&place, place.stockade(), &on);
    let flags = ["--ro", ".", "--mount", "/mnt/b=az://nowhere/x"];
    place.shell(&flags, "echo ran").expect_code(122).says("there is no container `nowhere`");
}

/// A7, A15: what is in a store is there in the next cage, read-only unless the policy says otherwise.
#[test]
fn a_store_is_kept_and_nobody_changes_it_unasked() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let policy = |rw: &str| {
        place.default_cage(&format!(
            "fs = [{{ rw = \".\" }}]\nmounts = [{{ at = \"/mnt/s\", from = \"store:data.db\"{rw} }}]"
        ));
    };
    policy("");
    place
        .shell(&[], "ls /mnt/s")
        .expect_code(122)
        .says("there is no store at")
        .says("data.db`; one is made");
    policy(", rw = true");
    place
        .shell(&[], "umask 077; echo kept > /mnt/s/a; ln -s a /mnt/s/l; ln /mnt/s/a /mnt/s/b")
        .expect_code(0);
    policy("");
    place
        .shell(
            &[],
            "cat /mnt/s/l; stat -c %a-%h /mnt/s/b; echo x > /mnt/s/c; rm -f /mnt/s/a; ls /mnt/s",
        )
        .expect_code(0)
        .prints("kept\n600-2\na\nb\nl\n")
        .says("Read-only file system");
    let ended = place.ask(["check", "--", "true"]);
    ended.expect_code(0).prints("store:").prints("the kernel cannot read a store");
    place.ask(["why", "/mnt/s/a"]).expect_code(0).prints("can be read\n").prints("stockade.toml");
}

/// A24: Git and SQLite in a store that is served.
#[test]
fn git_and_sqlite_work_in_a_store() {
    if !can_mount() || !has("git") || !has("python3") {
        return;
    }
    let place = Place::new();
    let line = "cd /mnt/s && git init -q r && cd r && git config user.email a@b && git config user.name n && \
        seq 1000 > f && git add . && git commit -qm one && git gc -q && echo x >> f && git status --short && \
        python3 -c \"import sqlite3; c = sqlite3.connect('x.db'); c.execute('pragma journal_mode=wal'); \
        c.execute('create table t(a)'); c.executemany('insert into t values(?)', [(i,) for i in range(1000)]); \
        c.commit(); print(c.execute('select sum(a) from t').fetchone()[0])\"";
    let ended = place.shell(&["--rw", ".", "--mount", "/mnt/s=store:data.db,rw"], line);
    ended.expect_code(0).prints(" M f\n499500\n");
}

/// A directory of the host is a rule and a link, with all that holds for rules.
#[test]
fn a_directory_is_shown_by_the_kernel() {
    let place = Place::new();
    place.write("docs/a", "text");
    place
        .shell(&["--mount", "/mnt/d=dir:docs"], "cat /mnt/d/a; readlink /mnt/d; echo x > /mnt/d/b")
        .expect_code(2)
        .prints("text")
        .prints(&place.project.join("docs").display().to_string());
    let flags = ["--mount", "/mnt/d=dir:docs,rw", "--mount", "/mnt/m=memory:"];
    place.shell(&flags, "echo x > /mnt/d/b && echo y > /mnt/m/c").expect_code(0);
    assert!(place.project.join("docs/b").exists());
}
