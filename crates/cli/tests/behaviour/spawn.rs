//! `stockade spawn`: a program in a cage starts another one that has less.

use super::support::{Place, stockade_binary};

/// V1, V12, V34, T51: the child has what it is given of what its parent has, and its child less again.
#[test]
fn a_program_starts_another_with_less() {
    let place = Place::new();
    place.write("a/one", "one\n");
    place.write("a/b/two", "two\n");
    place.write("c/three", "three\n");
    let own = stockade_binary();
    let (ro, own) = (own.to_str().unwrap(), own.display());
    let inner = format!(
        "cat a/one a/b/two c/three 2>&1; '{own}' spawn --ro a/b --ro '{own}' -- sh -c 'cat a/one a/b/two 2>&1; echo x > a/b/two'"
    );
    let line = format!(
        "SECRET=s '{own}' spawn --ro a --ro '{own}' -- sh -c \"{inner}; echo x > a/new; env\"; \
         '{own}' spawn --rw a -- sh -c 'echo made > a/new; cat a/new; cat \"$TMPDIR\"/* 2>&1; echo t > $TMPDIR/t && echo own'"
    );
    let ended = place.shell(&["--rw", ".", "--ro", ro], &line);
    assert_eq!(ended.stdout.matches("one\n").count(), 1, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("two\n").count(), 2, "{}", ended.stdout);
    assert!(
        !ended.stdout.contains("three\n") && !ended.stdout.contains("SECRET"),
        "{}",
        ended.stdout
    );
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.matches("ermission denied").count() >= 4, "{all}");
    ended.prints("made").prints("own");
    assert_eq!(std::fs::read_to_string(place.project.join("a/b/two")).unwrap(), "two\n");
}

/// V34: what the cage has not cannot be asked for, and outside of a cage there is nothing to have less of.
#[test]
fn nothing_more_can_be_asked_for() {
    let place = Place::new();
    let own = stockade_binary();
    let (ro, own) = (own.to_str().unwrap(), own.display());
    let more = format!(
        "'{own}' spawn --rw /usr -- true; '{own}' spawn --ro /nowhere -- true; '{own}' spawn -- /no/such"
    );
    let more = place.shell(&["--ro", ro], &more);
    more.says("`/usr` is more than this cage has");
    more.says("`/nowhere` is more than this cage has").says("cannot be started");
    place.ask(["spawn", "--", "true"]).says("this is no cage");
    let network = format!("'{own}' spawn -- python3 -c 'import socket; socket.socket()'");
    if testing::has("python3") {
        place.shell(&["--ro", ro, "--net", "example.com:443"], &network).says("PermissionError");
    }
}

/// V34, T51: a program gets a part of its cage, and what was taken once is not given back.
#[test]
fn a_run_has_a_part_of_its_cage() {
    let place = Place::new();
    place.write("a/one", "one\n");
    place.write("a/b/two", "two\n");
    place.write("c", "three\n");
    let look = "cat a/one a/b/two c 2>/dev/null; echo x > a/b/new && echo wrote; true";
    let run = |narrow: &[&str]| {
        let mut flags = vec!["--rw", ".", "--net", "example.com:443"];
        flags.extend(narrow.iter().flat_map(|request| ["--narrow", request]));
        place.shell(&flags, look)
    };
    run(&[]).expect_code(0).prints("one\ntwo\nthree\nwrote\n");
    std::fs::remove_file(place.project.join("a/b/new")).unwrap();
    let less = run(&[r#"{"ro": ["a"]}"#]);
    assert_eq!(less.expect_code(0).stdout, "one\ntwo\n");
    let hidden = run(&[r#"{"hide": ["a/b"], "no_net": true}"#]);
    assert!(hidden.expect_code(0).stdout.starts_with("one\nthree\n"), "{}", hidden.stdout);
    for (again, named) in [
        (r#"{"ro": ["."]}"#, place.project.to_str().unwrap()),
        (r#"{"rw": ["a"]}"#, "a"),
        (r#"{"net": ["other.example"]}"#, "other.example"),
    ] {
        let more = run(&[r#"{"ro": ["a"], "no_net": true}"#, again]);
        more.expect_code(123).says("does not have all of `--narrow`").says(named);
        assert!(!more.stdout.contains("one"), "{}", more.stdout);
    }
    run(&[r#"{"sudo": true}"#]).expect_code(2).says("--narrow");
}

/// V33, V34: a child with listed commands starts those and a shell, and nothing else, also by the loader.
#[test]
fn a_child_starts_the_commands_that_it_is_given() {
    let place = Place::new();
    let own = stockade_binary();
    let (ro, own) = (own.to_str().unwrap(), own.display());
    let loader = "for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do test -e $l && $l /usr/bin/id; done";
    let line = format!(
        "'{own}' spawn --commands cat,ls -- sh -c 'echo shell; cat /etc/passwd > /dev/null && echo cat; ls /usr/share > /dev/null && echo ls; id && echo ID; {loader} && echo LOADED; true'; '{own}' spawn --commands ../x -- true"
    );
    let ended = place.shell(&["--ro", ro], &line);
    ended.prints("shell\ncat\nls\n").says("is no name of a command");
    assert!(!ended.stdout.contains("ID") && !ended.stdout.contains("LOADED"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("uid="), "{}", ended.stdout);
}

/// V12, V36, V37, T51: what the parent has open, in its environment, in its memory or in its directory is not the child's; nor
/// is a sibling's; and what a child leaves running ends with the cage.
#[test]
fn a_hostile_child_gets_nothing_of_its_parent() {
    let place = Place::new();
    place.write("kept", "kept secret\n");
    let own = stockade_binary();
    let (ro, own) = (own.to_str().unwrap(), own.display());
    let tries = "cat <&9; cat /proc/self/fd/9; for p in /proc/[0-9]*; do cat $p/fd/9 $p/environ $p/cwd/kept; \
                 head -c 1 $p/mem; done; env; cat /tmp/parent/f; ls /tmp/parent; cat /tmp/child-*/s; \
                 ln -s /proc/$PPID/root/tmp/parent x; cat x/f; mv /tmp/parent /tmp/taken; echo x > /tmp/parent/f; true";
    let line = format!(
        "exec 9< kept; export TOKEN=of-the-parent; mkdir /tmp/parent; echo own secret > /tmp/parent/f; \
         '{own}' spawn -- sh -c 'echo sibling secret > $TMPDIR/s; sleep 3' & sleep 0.5; \
         '{own}' spawn -- sh -c '{tries}' > /tmp/seen 2>/dev/null; cat /tmp/seen; cat /tmp/parent/f; \
         '{own}' spawn -- sh -c 'setsid sleep 4242 > /dev/null 2>&1 & exit 0'; echo left"
    );
    let ended = place.shell(&["--ro", ".", "--ro", ro], &line);
    ended.expect_code(0).prints("own secret\nleft");
    for never in ["kept secret", "of-the-parent", "sibling secret"] {
        assert!(!ended.stdout.contains(never), "{never}: {}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("own secret").count(), 1, "{}", ended.stdout);
    let left = std::process::Command::new("pgrep").args(["-f", "sleep 424[2]"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{:?}", String::from_utf8_lossy(&left.stdout));
}

/// V14, V35, V37: a child does nothing to its parent's processes, and nothing of it is left when it has ended.
#[test]
fn a_child_leaves_its_parent_alone_and_nothing_behind() {
    let place = Place::new();
    let own = stockade_binary();
    let (ro, own) = (own.to_str().unwrap(), own.display());
    let tries = "prlimit --pid $PPID --fsize=0:0 && echo LIMITED; kill -9 $PPID && echo KILLED; \
                 renice -n 5 -p $PPID && echo RENICED; ipcmk -M 64 && echo SHARED; \
                 (exec 3<> /dev/ptmx) && echo TERMINAL; prlimit --pid $$ --fsize=4096 || ulimit -f 8; \
                 ulimit -n 64 && echo own limits; (setsid sleep 4243 > /dev/null 2>&1 &); (sleep 4243 &); exit 7";
    let line = format!(
        "'{own}' spawn -- sh -c '{tries}' 2> /dev/null; echo ended $?; \
         grep -l -a '^sleep' /proc/[0-9]*/cmdline 2> /dev/null | wc -l; \
         '{own}' spawn -- sh -c 'kill -9 $$'; echo killed $?; \
         '{own}' spawn -- sh -c 'trap \"echo got it; exit 3\" TERM; sleep 60 & wait' & \
         child=$!; sleep 0.7; kill -TERM $child; wait $child; echo passed on $?"
    );
    let ended = place.shell(&["--ro", ro], &line);
    ended.prints("own limits\nended 7\n0\n").prints("killed 137\n");
    ended.prints("got it\npassed on 3\n");
    for never in ["LIMITED", "KILLED", "RENICED", "SHARED", "TERMINAL"] {
        assert!(!ended.stdout.contains(never), "{never}: {}", ended.stdout);
    }
}

/// V20, V21, V22: the tools of agents for a shell, in a cage alone, with what the cage has.
#[test]
fn a_shell_has_the_tools_of_agents() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let own = stockade_binary();
    let (ro, own) = (own.to_str().unwrap(), own.display());
    place.ask(["tool", "list"]).expect_code(0).prints("read ").prints("exec ");
    place.ask(["tool", "doc", "read"]).expect_code(0).prints("\"path\"");
    place.ask(["tool", "doc", "sudo"]).says("there is no tool `sudo`");
    place.ask(["tool", "run", "read", "{\"path\": \"a.txt\"}"]).says("this is no cage");
    let line = format!(
        "'{own}' tool run read '{{\"path\": \"a.txt\"}}'; echo '{{\"command\": \"echo $((6*7))\"}}' | '{own}' tool run exec; \
         '{own}' tool run read '{{\"path\": \"/root/x\"}}'; echo code $?; '{own}' tool run read nonsense; \
         for n in 1 2 3 4 5 6 7 8 9 10; do '{own}' tool run exec \"{{\\\"command\\\": \\\"echo n$n\\\"}}\" > /tmp/r$n & done; wait; cat /tmp/r*"
    );
    let ended = place.shell(&["--ro", ".", "--ro", ro], &line);
    ended.prints("1\tone").prints("42").prints("error: ").prints("code 1");
    ended.says("no JSON object");
    for number in 1..=10 {
        ended.prints(&format!("n{number}\n"));
    }
}
