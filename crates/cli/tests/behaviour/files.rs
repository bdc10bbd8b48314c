//! Which files a cage shows, and how.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::support::{Ended, Place, has, is_root, skip};

/// K5, K33, K46, T59
#[test]
fn without_a_policy_the_working_directory_is_read_only() {
    let place = Place::new();
    place.write("file", "contents");
    place.shell(&[], "cat file").expect_code(0).prints("contents");
    place.shell(&[], "echo x > file").expect_code(2).says("Read-only file system");
    place.shell(&[], "touch new").expect_code(1).says("Read-only file system");
    assert!(!place.project.join("new").exists());
}

/// K7, K34, K36, V10
#[test]
fn only_grants_and_private_directories_take_new_files() {
    let place = Place::new();
    let line = "touch here ~/home /tmp/tmp /scratch/scratch && \
                for at in / /etc /usr /var /run /dev /proc; do \
                touch $at/new 2>/dev/null && echo wrote $at; done; true";
    let ended = place.shell(&["--rw", "."], line);
    ended.expect_code(0);
    assert_eq!(ended.stdout, "");
    assert!(place.project.join("here").exists());
    for private in ["/tmp/tmp", "/scratch/scratch"] {
        assert!(!std::path::Path::new(private).exists());
    }
    assert!(!place.home.join("home").exists());
}

/// K7, K37
#[test]
fn private_files_are_gone_with_the_cage() {
    let place = Place::new();
    place.shell(&[], "echo x > /scratch/kept; echo x > ~/kept").expect_code(0);
    place.shell(&[], "ls /scratch ~/kept").expect_code(2);
}

/// K236, V1, T60
#[test]
fn the_most_specific_path_wins_in_both_directions() {
    let place = Place::new();
    place.write("open/inner/sealed/file", "x");
    place.write("open/inner/sealed/again/file", "x");
    place.write("hidden/file", "x");
    place.write("hidden/shown/file", "shown");
    place.write("hidden/shown/dark/file", "x");
    place.default_cage(
        "fs = [{ ro = \".\" }, { rw = \"open\" }, { ro = \"open/inner/sealed\" }, \
         { rw = \"open/inner/sealed/again\" }, { hide = \"hidden\" }, { rw = \"hidden/shown\" }, \
         { hide = \"hidden/shown/dark\" }]",
    );
    let table = [
        ("touch new", false),
        ("touch open/new", true),
        ("touch open/inner/new", true),
        ("touch open/inner/sealed/new", false),
        ("touch open/inner/sealed/again/new", true),
        ("cat hidden/file", false),
        ("touch hidden/new", false),
        ("touch hidden/shown/new", true),
        ("cat hidden/shown/file", true),
        ("cat hidden/shown/dark/file", false),
        ("touch hidden/shown/dark/new", false),
    ];
    for (line, works) in table {
        let ended = place.shell(&[], line);
        assert_eq!(ended.code == 0, works, "{line}: {}", ended.stderr);
    }
    let ended = place.shell(&[], "ls -A hidden hidden/shown/dark");
    assert_eq!(ended.stdout, "hidden:\nshown\n\nhidden/shown/dark:\n");
}

/// K236
#[test]
fn a_flag_replaces_the_rule_on_the_same_path() {
    let place = Place::new();
    fs::create_dir(place.project.join("build")).unwrap();
    place.default_cage("fs = [{ ro = \".\" }, { rw = \"build\" }]");
    place.shell(&[], "touch build/one").expect_code(0);
    place.shell(&["--ro", "build"], "touch build/two").expect_code(1);
    place.shell(&["--rw", "."], "touch three").expect_code(0);
    place.shell(&["--hide", "build"], "ls -A build").expect_code(0);
    let ended = place.shell(&["--ro", "build", "--rw", "build"], "true");
    ended.expect_code(2).says("contradict");
}

/// K5, K46
#[test]
fn what_is_not_granted_does_not_exist() {
    let place = Place::new();
    let secret = place.outside().join("secret");
    fs::write(&secret, "x").unwrap();
    fs::write(place.home.join("other"), "x").unwrap();
    for path in [secret.as_path(), &place.home.join("other"), std::path::Path::new("/etc/shadow")] {
        let ended = place.ask(["run", "--", "stat", path.to_str().unwrap()]);
        ended.expect_code(1).says("No such file or directory");
    }
}

/// K32, V7
#[test]
fn a_link_of_the_project_leads_nowhere_inside() {
    let place = Place::new();
    let secret = place.outside().join("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, place.project.join("link")).unwrap();
    place.shell(&["--rw", "."], "cat link").expect_code(1).says("No such file or directory");
    let ended = place.shell(&["--rw", "."], "echo x > link");
    assert_ne!(ended.code, 0);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
}

/// T16: secrets inside a wide grant stay hidden unless a rule names them.
#[test]
fn well_known_secrets_stay_hidden_unless_named() {
    let place = Place::new();
    fs::create_dir(place.home.join(".ssh")).unwrap();
    fs::write(place.home.join(".ssh/id_ed25519"), "key").unwrap();
    fs::write(place.home.join(".bash_history"), "history").unwrap();
    fs::write(place.home.join("plain"), "plain").unwrap();
    let home = place.home.to_str().unwrap();
    place.shell(&["--ro", home], "cat ~/plain").expect_code(0).prints("plain");
    let ended = place.shell(&["--ro", home], "ls -A ~/.ssh; cat ~/.bash_history ~/.ssh/id_ed25519");
    assert!(!ended.stdout.contains("key") && !ended.stdout.contains("history"), "{}", ended.stdout);
    let ssh = format!("{home}/.ssh");
    let ended = place.shell(&["--ro", home, "--ro", &ssh], "cat ~/.ssh/id_ed25519");
    ended.expect_code(0).prints("key");
}

/// T17
#[test]
fn a_single_file_can_be_granted_and_a_stale_one_is_told() {
    let place = Place::new();
    let outside = place.outside();
    let file = outside.join("notes");
    fs::write(&file, "old").unwrap();
    let flag = file.to_str().unwrap();
    let line = format!("cat {flag}; ls -A {}", outside.display());
    place.shell(&["--ro", flag], &line).expect_code(0).prints("oldnotes\n");
    // Replaced on the host while the program runs: as editors save files.
    fs::create_dir(place.project.join("signals")).unwrap();
    let line = "touch signals/ready; while [ ! -e signals/go ]; do sleep 0.05; done";
    let mut command = place.stockade();
    command.args(["run", "--rw", ".", "--ro", flag, "--", "sh", "-c", line]);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    while !place.project.join("signals/ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::write(outside.join("new"), "new").unwrap();
    fs::rename(outside.join("new"), &file).unwrap();
    fs::write(place.project.join("signals/go"), "").unwrap();
    let ended = super::support::Ended::of(child.wait_with_output().unwrap());
    ended.expect_code(0).says("was replaced or removed on the host");
}

/// T7
#[test]
fn strange_names_are_shown_as_they_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let names: [&[u8]; 6] = [b"a b", b"-x", b"[x]*?", b"\xff\xfe", b"quote'\"", b"back\\slash"];
    for name in names {
        let directory = place.project.join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("file"), "x").unwrap();
        let mut command = place.stockade();
        command.arg("run").arg("--rw").arg(&directory).args(["--", "touch"]);
        command.arg(directory.join("new"));
        super::support::Ended::of(command.output().unwrap()).expect_code(0);
        assert!(directory.join("new").exists(), "{name:?}");
    }
}

/// V2: nothing is created on the host, whatever the rules are.
#[test]
fn a_run_leaves_a_repository_as_it_was() {
    if !has("git") {
        return;
    }
    let place = Place::new();
    place.write("hidden/file", "x");
    place.write("deep/down/file", "x");
    place.default_cage(
        "fs = [{ ro = \".\" }, { hide = \"hidden\" }, { hide = \"absent\" }, \
         { hide = \"deep/none/at/all\" }, { rw = \"deep/down\" }]",
    );
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .args(words)
            .current_dir(&place.project)
            .env("HOME", &place.home)
            .env("XDG_STATE_HOME", place.state());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    let state = || (git(&["status", "--porcelain", "--ignored"]), tree(&place.project));
    let before = state();
    place.shell(&[], "ls -R . > /dev/null; git status --porcelain; true").expect_code(0);
    place.shell(&["--rw", "."], "true").expect_code(0);
    place.shell(&["--cage", "none"], "true").expect_code(123);
    place.ask(["run", "--", "no-such-program"]).expect_code(127);
    assert_eq!(state(), before);
}

/// K45, T64: what only root may read stays unreadable to a cage that root starts.
#[test]
fn files_of_the_system_keep_their_permissions() {
    let place = Place::new();
    if !is_root() {
        return skip("only root's cages could read what is root's");
    }
    let directory = tempfile::Builder::new().prefix("stockade-system").tempdir_in("/opt");
    let Ok(directory) = directory else {
        return skip("`/opt` cannot be written to");
    };
    let file = directory.path().join("root-only");
    fs::write(&file, "secret").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let flag = directory.path().to_str().unwrap();
    let ended = place.ask(["run", "--rw", flag, "--", "cat", file.to_str().unwrap()]);
    ended.expect_code(1).says("Permission denied");
    let line = format!("touch {flag}/new");
    assert_ne!(place.shell(&["--rw", flag], &line).code, 0);
}

/// K45: files made in the project belong to whoever owns the project.
#[test]
fn new_files_belong_to_the_owner_of_the_project() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    place.shell(&["--rw", "."], "touch new; mkdir directory").expect_code(0);
    let owner = fs::metadata(&place.project).unwrap().uid();
    for name in ["new", "directory"] {
        assert_eq!(fs::metadata(place.project.join(name)).unwrap().uid(), owner, "{name}");
    }
}

/// Every path below a directory with its kind, size and time.
fn tree(directory: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let status = fs::symlink_metadata(&path).unwrap();
            found.push(format!("{} {:?} {}", path.display(), status.file_type(), status.len()));
            if status.is_dir() && !path.ends_with(".git") {
                waiting.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A caller in a directory that the cage has of its own means the host's: the project is where the
/// program starts.
#[test]
fn a_run_for_a_project_elsewhere_starts_there() {
    let place = Place::new();
    let mut command = place.stockade();
    command.current_dir("/tmp").args(["run", "--project"]).arg(&place.project);
    let ended = Ended::of(command.args(["--", "pwd"]).output().unwrap());
    ended.expect_code(0).prints(place.project.to_str().unwrap());
}

/// T17: what replaces a hidden file on the host takes its cover away, and the user is told.
#[test]
fn a_cover_that_fell_away_is_told() {
    let place = Place::new();
    let hidden = place.write("secret", "old");
    let mut command = place.stockade();
    command.args(["run", "--hide", "secret", "--", "sh", "-c", "echo ready; read line"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut ready = [0_u8; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let other = place.write("other", "new");
    fs::rename(other, &hidden).unwrap();
    drop(child.stdin.take());
    let ended = Ended::of(child.wait_with_output().unwrap());
    ended.says("was replaced on the host").says("secret");
}

/// T12, T24, T64: what a cage leaves on the host gives nobody its owner's identity.
#[test]
fn a_cage_cannot_make_a_set_id_file() {
    let place = Place::new();
    let script = "import os, sys
def refused(call):
    try: call()
    except PermissionError: return
    sys.exit('not refused')
open('x', 'w').close()
refused(lambda: os.chmod('x', 0o4755))
refused(lambda: os.chmod('x', 0o2755))
refused(lambda: os.fchmod(os.open('x', os.O_RDWR), 0o6755))
refused(lambda: os.open('y', os.O_CREAT | os.O_WRONLY, 0o4755))
refused(lambda: os.mknod('z', 0o104755))
os.chmod('x', 0o1755)
print('held')";
    if !has("python3") {
        return;
    }
    for profile in ["default", "relaxed"] {
        let flags =
            ["run", "--rw", ".", "--seccomp", profile, "--", "/usr/bin/python3", "-c", script];
        place.ask(flags).expect_code(0).prints("held");
    }
    let mode = fs::metadata(place.project.join("x")).unwrap().permissions().mode();
    assert_eq!(mode & 0o6000, 0);
}

/// More grants than the caller may have descriptors; the program gets the caller's limit.
#[test]
fn grants_are_not_bounded_by_the_limit_of_descriptors() {
    if !has("taskset") {
        return;
    }
    let place = Place::new();
    let mut line = "ulimit -Sn 300; exec \"$0\" run".to_owned();
    for number in 0..400 {
        fs::create_dir(place.project.join(format!("d{number}"))).unwrap();
        line.push_str(&format!(" --rw d{number}"));
    }
    line.push_str(" -- sh -c 'ulimit -Sn; ls -d d399'");
    by_shell(&place, &line).expect_code(0).prints("300\nd399\n");
    // On one processor the grants may all be open before the namespaces are made.
    let line = line.replacen("exec ", "exec taskset -c 0 ", 1);
    for _ in 0..10 {
        by_shell(&place, &line).expect_code(0).prints("300\nd399\n");
    }
}

/// A line for the shell, where `$0` is the binary.
fn by_shell(place: &Place, line: &str) -> Ended {
    let mut command = std::process::Command::new("sh");
    command
        .current_dir(&place.project)
        .env_clear()
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state());
    command.args(["-c", line]).arg(place.stockade().get_program());
    Ended::of(command.output().unwrap())
}

/// A limit that leaves no room for a cage is what is told, whichever step meets it.
#[test]
fn too_few_descriptors_are_told() {
    let place = Place::new();
    for limit in [16, 28, 40, 64] {
        let ended = by_shell(&place, &format!("ulimit -n {limit}; exec \"$0\" run -- true"));
        assert!(
            ended.code == 0
                || ended.stderr.contains("Too many open files")
                    && ended.stderr.contains("ulimit -n"),
            "{limit}: {}",
            ended.stderr
        );
    }
}

/// The same with more grants than descriptors: once, and not as a fault of the policy.
#[test]
fn too_few_descriptors_for_the_grants_are_told_once() {
    let place = Place::new();
    let name = |number: u32| format!("d{number}");
    for number in 0..100 {
        std::fs::create_dir(place.project.join(name(number))).unwrap();
    }
    let rules: Vec<String> =
        (0..100).map(|number| format!("{{ ro = \"{}\" }}", name(number))).collect();
    place.default_cage(&format!("fs = [{}]", rules.join(", ")));
    let ended = by_shell(&place, "ulimit -n 50; exec \"$0\" run -- true");
    let told = ended.stderr.matches("Too many open files").count();
    let is_explained = ended.stderr.contains("ulimit -n");
    assert_eq!((ended.code, told, is_explained), (122, 1, true), "{}", ended.stderr);
}

/// T7: what is hidden stays hidden in the next run of the same policy.
#[test]
fn a_rule_through_a_link_that_the_program_could_move_is_refused() {
    let place = Place::new();
    place.write("real/key", "TOPSECRET");
    std::os::unix::fs::symlink("real", place.project.join("secrets")).unwrap();
    for rule in ["hide", "ro", "rw"] {
        place.default_cage(&format!("fs = [{{ rw = \".\" }}, {{ {rule} = \"secrets\" }}]"));
        let ended = place.shell(&[], "mv secrets moved");
        ended.expect_code(123).says("secrets` is on its way").says("real` itself");
    }
    place.default_cage("fs = [{ rw = \".\" }, { hide = \"real\" }]");
    place.shell(&[], "mv secrets moved; ! cat real/key").expect_code(0);
    place.shell(&[], "! cat real/key").expect_code(0);
    place.default_cage("fs = [{ ro = \".\" }, { hide = \"secrets\" }]");
    std::fs::rename(place.project.join("moved"), place.project.join("secrets")).unwrap();
    place.shell(&[], "! cat real/key && ! mv secrets moved").expect_code(0);
}
