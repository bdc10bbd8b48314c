//! Limits on memory, processes and processor time, and what becomes of a program that meets them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ended, Place, has, has_all, is_root, skip, slowly, stockade_binary};

/// Whether this caller can hold limits here. Root always can where tests run; a user can where the
/// system has given it a part of the control groups.
fn are_held(place: &Place) -> bool {
    let ended = place.shell(&["--memory", "64M", "--pids", "9", "--cpus", "1"], "true");
    if ended.code == 0 {
        return true;
    }
    ended.expect_code(122).says("cannot be limited here").says("--degraded-limits");
    assert!(!is_root() || !testing::requires_everything(), "{}", ended.stderr);
    false
}

/// The same; where they cannot be held, the test is skipped.
fn can_be_tested(place: &Place) -> bool {
    let can_be = are_held(place);
    if !can_be {
        skip("no limits can be held here");
    }
    can_be
}

fn result(ended: &Ended) -> Value {
    serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap()
}

/// Control groups with a name that has this text in it.
fn groups_with(text: &str) -> Vec<PathBuf> {
    fn search(directory: &Path, text: &str, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_type().unwrap().is_dir()) {
            if entry.file_name().to_string_lossy().contains(text) {
                found.push(entry.path());
            }
            search(&entry.path(), text, found);
        }
    }
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), text, &mut found);
    found
}

/// The same when all had time to go: systemd removes an empty scope by itself, soon.
fn groups_left_with(text: &str) -> Vec<PathBuf> {
    let deadline = Instant::now() + slowly(Duration::from_secs(5));
    loop {
        let left = groups_with(text);
        let scopes = left.iter().all(|group| group.extension().is_some_and(|kind| kind == "scope"));
        if left.is_empty() || !scopes || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// K53, K145, K147, K188, K215, T29, T66: a program that takes too much memory is ended, and told
/// how to get more.
#[test]
fn too_much_memory() {
    let place = Place::new();
    if !has("perl") || !can_be_tested(&place) {
        return;
    }
    let bomb = ["run", "--json", "--memory", "32M", "--", "perl", "-e", "$x = 'x' x (200 << 20)"];
    let ended = place.ask(bomb);
    ended.expect_code(137).says("memory limit 32 MiB exceeded, peak ");
    ended.says("; raise it with --memory 64M");
    let result = result(&ended);
    assert_eq!(result["reason"], "oom");
    assert_eq!(result["usage"]["memory_limit"], 32 << 20);
    assert!(result["usage"]["memory_peak"].as_u64().unwrap() > 16 << 20, "{result}");
    assert!(result["usage"]["oom_kills"].as_u64().unwrap() > 0, "{result}");
    let left = groups_left_with(result["invocation"].as_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

/// K145, K188: all of the cage ends, not only the process that the kernel has chosen.
#[test]
fn want_of_memory_ends_the_whole_cage() {
    let place = Place::new();
    if !has("perl") || !can_be_tested(&place) {
        return;
    }
    let long = slowly(Duration::from_secs(30));
    let line = format!(
        "(perl -e '$x = \"x\" x (200 << 20)'; true) & wait; sleep {}; echo survived",
        long.as_secs()
    );
    let began = Instant::now();
    let ended = place.shell(&["--memory", "32M"], &line);
    ended.expect_code(137).says("memory limit 32 MiB exceeded");
    assert!(!ended.stdout.contains("survived"));
    assert!(began.elapsed() < long / 2, "{:?}", began.elapsed());
}

/// K225, T29: files in memory count as memory.
#[test]
fn files_in_memory_are_memory() {
    let place = Place::new();
    if !can_be_tested(&place) {
        return;
    }
    let fill = "head -c 200M /dev/zero > /tmp/a; head -c 200M /dev/zero > /scratch/b; sleep 30";
    place.shell(&["--memory", "48M"], fill).expect_code(137).says("memory limit 48 MiB exceeded");
    place.shell(&["--memory", "48M"], "df -m /tmp | tail -1").expect_code(0).prints(" 48 ");
}

/// K188, T29, T30: the kernel chooses among the program's processes, never the one that has to tell the
/// end, although that is larger than a shell; and the program cannot push it forward.
#[test]
fn want_of_memory_ends_the_program_first() {
    let place = Place::new();
    if !can_be_tested(&place) {
        return;
    }
    let here: i32 =
        std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    // Pid 1 steps back right after it has started the program, which may be faster.
    let settled = format!(
        "n=0; while [ $(cat /proc/1/oom_score_adj) != {here} ] && [ $n -lt 50 ]; do n=$((n+1)); \
         sleep 0.1; done"
    );
    let order = &format!("cat /proc/self/oom_score_adj; {settled}; cat /proc/1/oom_score_adj");
    let told = |flags: &[&str], line: &str| -> Vec<i32> {
        let ended = place.shell(flags, line);
        ended.expect_code(0).stdout.lines().map(|line| line.parse().unwrap()).collect()
    };
    assert_eq!(told(&["--memory", "64M"], order), [(here + 300).min(1000), here]);
    assert_eq!(told(&[], order), [here, here]);
    let push = format!("(echo 1000 > /proc/1/oom_score_adj) 2> /dev/null; {order}");
    assert_eq!(told(&["--memory", "64M"], &push).last(), Some(&here));
}

/// What `run` refuses, `check` warns of.
#[test]
fn check_says_which_limits_are_not_held_here() {
    let place = Place::new();
    let warned = |flags: &[&str]| {
        let ended = place.ask([&["check"], flags].concat());
        ended.expect_code(0).stderr.contains("a program with these limits is not started here")
    };
    assert!(!warned(&["--time", "1m"]));
    let runs = place.shell(&["--memory", "64M", "--pids", "64"], "true").code == 0;
    assert_eq!(warned(&["--memory", "64M", "--pids", "64"]), !runs);
}

/// K22, K225: the room for files in memory is what was asked for, else all the memory that there may be.
#[test]
fn the_room_in_memory_can_be_chosen() {
    let place = Place::new();
    let room = |flags: &[&str]| {
        let line = "for at in /tmp /scratch ~; do df -m $at | tail -1 | awk '{ print $2 }'; done";
        let ended = place.shell(flags, line);
        ended.expect_code(0).stdout.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(room(&[]), ["1024", "1024", "1024"]);
    assert_eq!(room(&["--tmp-size", "2G", "--home-size=96M"]), ["2048", "2048", "96"]);
    place.default_cage("fs = [{ ro = \".\" }]\nlimits = { tmp_mb = 8, home_mb = 3000 }");
    assert_eq!(room(&[]), ["8", "8", "3000"]);
    assert_eq!(room(&["--tmp-size", "1M"]), ["1", "1", "3000"]);
    place.shell(&["--tmp-size", "5"], "true").expect_code(2).says("a size such as `512M`");
    if can_be_tested(&place) {
        std::fs::remove_file(place.project.join("stockade.toml")).unwrap();
        assert_eq!(room(&["--memory", "3G"]), ["3072", "3072", "3072"]);
        assert_eq!(room(&["--memory", "64M", "--home-size", "1G"]), ["64", "64", "64"]);
    }
}

/// K225, T29: without a limit they are bounded all the same, in bytes and in number.
#[test]
fn files_in_memory_are_bounded() {
    let place = Place::new();
    let ended = place.shell(&[], "head -c 300M /dev/zero > /dev/shm/file");
    ended.expect_code(1).says("No space left on device");
    let many =
        "i=0; while : > /dev/shm/$i; do i=$((i+1)); done 2>&1 | tail -1; ls /dev/shm | wc -l";
    let ended = place.shell(&[], many);
    let count: usize = ended.stdout.lines().last().unwrap().trim().parse().unwrap();
    assert!((60_000..66_000).contains(&count), "{}", ended.stdout);
}

/// K55, K63: the number is that of the program's own processes.
#[test]
fn processes_are_counted_without_ours() {
    let place = Place::new();
    if !can_be_tested(&place) {
        return;
    }
    place.ask(["run", "--pids", "1", "--", "true"]).expect_code(0);
    let three = "sleep 0.2 & sleep 0.2 & wait";
    place.shell(&["--pids", "3"], three).expect_code(0);
    let ended = place.ask(["run", "--json", "--pids", "2", "--", "sh", "-c", three]);
    assert_ne!(ended.code, 0);
    ended.says("limit of 2 processes and threads reached, refused ");
    ended.says("raise it with --pids 4");
    assert!(result(&ended)["usage"]["pids_refused"].as_u64().unwrap() > 0);
}

/// K55, T29: a fork bomb stays in its cage and ends with its time.
#[test]
fn a_fork_bomb() {
    let place = Place::new();
    if !can_be_tested(&place) {
        return;
    }
    let bomb = "bomb() { bomb | bomb & bomb; }; bomb 2> /dev/null; sleep 30";
    let began = Instant::now();
    let time = format!("{}s", slowly(Duration::from_secs(2)).as_secs());
    let limits = ["--json", "--pids", "40", "--memory", "256M", "--time", &time];
    let ended = place.shell(&limits, bomb);
    let longest = slowly(Duration::from_secs(20));
    assert!(began.elapsed() < longest, "{:?}", began.elapsed());
    let result = result(&ended);
    assert!(result["usage"]["pids_refused"].as_u64().unwrap() > 0, "{result}");
    let left = groups_left_with(result["invocation"].as_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

/// K54, T29: a program that may use a fifth of a processor uses a fifth of one.
#[test]
fn processor_time() {
    let place = Place::new();
    if !has("perl") || !can_be_tested(&place) {
        return;
    }
    let busy =
        "perl -e 'my $end = time + 4; 1 while time < $end; my ($u, $s) = times; print $u + $s'";
    let ended = place.shell(&["--cpus", "0.2", "--json"], busy);
    ended.expect_code(0);
    let used: f64 = ended.stdout.trim().parse().unwrap();
    assert!(used < 1.6, "{used}");
    let result = result(&ended);
    assert!(result["usage"]["throttled_us"].as_u64().unwrap() > 0, "{result}");
}

/// What was used is told also where the end of the network is waited for.
#[test]
fn what_a_cage_with_a_network_has_used_under_limits() {
    let place = Place::new();
    if !can_be_tested(&place) {
        return;
    }
    let ended = place.shell(&["--net", "good.example", "--memory", "64M", "--json"], "true");
    ended.expect_code(0);
    let result = result(&ended);
    assert_eq!(result["usage"]["memory_limit"], 64 << 20, "{result}");
}

/// T29: a program that opens all descriptors that it can get does no harm to others.
#[test]
fn all_descriptors() {
    if !has("perl") {
        return;
    }
    let place = Place::new();
    let script = "my @all; my $file; while (open($file, '<', '/dev/null')) { push @all, $file; \
                  undef $file } print scalar(@all) > 100 ? 'many' : 'few'; print \" $!\";";
    let ended = place.ask(["run", "--", "perl", "-e", script]);
    ended.expect_code(0).prints("many Too many open files");
}

/// T30: what the kernel kills first is not the program's to choose, nor its share of the processor.
#[test]
fn a_program_cannot_put_itself_above_others() {
    let place = Place::new();
    let line = "echo -1000 > /proc/self/oom_score_adj || echo refused; nice -n -5 true 2>&1; \
                ls /sys/fs/cgroup 2>&1; cat /proc/self/cgroup";
    let ended = place.shell(&[], line);
    ended.prints("refused").prints("ermission denied").prints("No such file");
    // A namespace of its own begins where the cage does.
    let elsewhere = ended.stdout.lines().filter(|line| line.contains(":/")).any(|line| {
        let path = line.rsplit(':').next().unwrap();
        path.contains("stockade") || path.len() > 200
    });
    assert!(!elsewhere, "{}", ended.stdout);
}

/// K54, K62, K63, K64: a limit in a policy is as good as a flag.
#[test]
fn limits_of_a_policy() {
    let place = Place::new();
    if !has("perl") || !can_be_tested(&place) {
        return;
    }
    let limits = "limits = { memory_mb = 32, cpu_shares = 512, pids = 20, walltime_sec = 60 }";
    place.default_cage(&format!("fs = [{{ ro = \".\" }}]\n{limits}"));
    let bomb = ["run", "--", "perl", "-e", "$x = 'x' x (200 << 20)"];
    place.ask(bomb).expect_code(137).says("memory limit 32 MiB exceeded");
    let more = ["run", "--memory", "512M", "--", "perl", "-e", "$x = 'x' x (100 << 20)"];
    place.ask(more).expect_code(0);
}

/// K148, K182: where limits cannot be held a cage is refused, unless that is allowed.
#[test]
fn limits_that_cannot_be_held() {
    if !has_all(&["perl", "unshare"]) {
        return;
    }
    let place = Place::new();
    let stockade = stockade_binary();
    let run = |flags: &str, program: &str| {
        let line = format!("exec {} run {flags} -- {program}", stockade.display());
        let mut shell = if is_root() {
            let mut shell = Command::new("unshare");
            shell.args(["-m", "sh", "-c"]);
            shell.arg(format!("umount -R /sys/fs/cgroup; {line}"));
            shell
        } else {
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]);
            shell
        };
        shell.current_dir(&place.project).env("HOME", &place.home).stdin(Stdio::null());
        Ended::of(shell.output().unwrap())
    };
    if !is_root() && are_held(&place) {
        return skip("this user's limits can be held");
    }
    let bomb = "perl -e '$x = \"x\" x (200 << 20); print 1'";
    run("--memory 64M", "true").expect_code(122).says("--degraded-limits");
    let ended = run("--memory 64M --degraded-limits", bomb);
    assert_ne!(ended.code, 0, "{}", ended.stderr);
    ended.says("limits are not held in full");
    run("--memory 512M --pids 100 --degraded-limits", "true").expect_code(0);
    // K63: one process is one of the program's own, whatever holds the limit.
    run("--pids 1 --degraded-limits", "true").expect_code(0);
    run("--time 60s", "true").expect_code(0);
    if is_root() {
        // Root's memory and time are still counted.
        return;
    }
    // Nobody holds a user's cage here, and what nobody counts is not told as nothing.
    let uncounted = result(&run("--pids 100 --degraded-limits --json", "true"));
    assert_eq!(uncounted["usage"], serde_json::Value::Null, "{uncounted}");
}

/// K156: process ids of a container mean nothing outside, and its cages live on.
#[test]
fn a_supervisor_in_another_process_id_namespace_is_alive() {
    let place = Place::new();
    if !is_root() {
        return skip("only root can have process ids of its own alone");
    }
    if !can_be_tested(&place) || !has("unshare") {
        return;
    }
    place.write("w/keep", "");
    let line = format!(
        "exec {} run --rw w --memory 64M -- sh -c 'echo x > w/begun; sleep 1; echo fine'",
        stockade_binary().display()
    );
    let mut contained = contained(&place, &line);
    let mut contained = contained.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.project.join("w/begun").exists() {
        if contained.try_wait().unwrap().is_some() {
            // Where groups are systemd's alone, there are none for a container without its own.
            return refused_in_container(&Ended::of(contained.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    place.shell(&["--memory", "64M"], "true").expect_code(0);
    Ended::of(contained.wait_with_output().unwrap()).expect_code(0).prints("fine");
}

/// K156, T66: to systemd outside of a container its process ids are those of other processes, which must
/// not be put under the cage's limits.
#[test]
fn no_other_process_is_put_under_the_limits_of_a_cage() {
    let place = Place::new();
    let last_id = "/proc/sys/kernel/ns_last_pid";
    if !is_root() || !Path::new(last_id).exists() {
        return skip("only root can choose the next process id, and not with every kernel");
    }
    if !can_be_tested(&place) || !has("unshare") {
        return;
    }
    let start = |_| Command::new("sleep").arg("600").spawn().unwrap();
    let mut others: Vec<Child> = (0..64).map(start).collect();
    let group = |process: u32| std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
    // The cage's first process gets an id that one of them has outside.
    let line = format!(
        "echo {} > {last_id} && exec {} run --memory 64M -- true",
        others[0].id(),
        stockade_binary().display()
    );
    let ended = Ended::of(contained(&place, &line).output().unwrap());
    let groups: Vec<String> = others.iter().map(|other| group(other.id())).collect();
    for other in &mut others {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    let own = group(std::process::id());
    assert!(groups.iter().all(|group| *group == own), "{groups:?}\n{}", ended.stderr);
    if ended.code != 0 {
        refused_in_container(&ended);
    }
}

/// A line of shell in a process id namespace of its own.
fn contained(place: &Place, line: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "sh", "-c", line]);
    command.current_dir(&place.project).env("HOME", &place.home).stdin(Stdio::null());
    command
}

fn refused_in_container(ended: &Ended) {
    ended.expect_code(122).says("cannot be limited here").says("another process id namespace");
}

/// K147, K156, K219, K239, T54, T62: a supervisor that is killed takes its cage with it, and what it
/// leaves of its control groups is removed by the next run, which says so.
#[test]
fn a_killed_supervisor_under_limits() {
    let place = Place::new();
    if !can_be_tested(&place) {
        return;
    }
    place.write("w/keep", "");
    let mut command = place.stockade();
    let line = "setsid sh -c 'while :; do echo x >> w/beat; sleep 0.05; done' & sleep 60";
    command.args(["run", "--rw", "w", "--memory", "64M", "--pids", "20", "--", "sh", "-c", line]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let beat = place.project.join("w/beat");
    while !beat.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(slowly(Duration::from_millis(300)));
    let before = std::fs::metadata(&beat).unwrap().len();
    std::thread::sleep(slowly(Duration::from_millis(300)));
    assert_eq!(std::fs::metadata(&beat).unwrap().len(), before, "the cage lives on");
    let mark = format!("stockade-{}-", child.id());
    // Any other run with limits beside this test removes them as well.
    let ended = place.shell(&["--memory", "64M"], "true");
    ended.expect_code(0);
    assert!(groups_left_with(&mark).is_empty(), "{:?}", groups_with(&mark));
    let said = ended.stderr.contains("removed control group");
    let recorded = place.records().iter().any(|one| one["event"] == "sweep");
    assert_eq!(said, recorded, "{}", ended.stderr);
}
