//! What a child can be given, of what its parent has.

use plan::HostPath;
use policy::{FsAccess, FsRule, Policy, Reach, RuleOrigin};
use serde_json::json;

use super::{Request, Starts, narrowed, narrowing, paths_of};

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

fn parent() -> Policy {
    let rule = |access, at: &str| FsRule {
        access,
        path: path(at),
        reach: Reach::Anywhere,
        origin: RuleOrigin::BuiltIn("test"),
    };
    Policy {
        fs: vec![
            rule(FsAccess::Cow, "/p"),
            rule(FsAccess::Hide, "/p/secret"),
            rule(FsAccess::ReadOnly, "/docs"),
        ],
        ..Policy::closed("parent")
    }
}

fn asked(paths: Option<&[&str]>, network: bool) -> Result<Policy, String> {
    let mut arguments = json!({ "task": "t", "tools": ["read"], "network": network });
    if let Some(paths) = paths {
        arguments["paths"] = json!(paths);
    }
    let request = Request::read(arguments.as_object().unwrap())?;
    narrowed(&parent(), &request, &path("/p"), None)
}

/// V33, V34: commands are given by name, of those that the parent has.
#[test]
fn commands_are_given_by_name() {
    let of = |parent: &Policy, names: &[&str]| {
        let arguments = json!({ "task": "t", "tools": ["exec"], "commands": names });
        let request = Request::read(arguments.as_object().unwrap())?;
        narrowed(parent, &request, &path("/p"), None)
    };
    let less = of(&parent(), &["cat", "ls"]).unwrap();
    let may = Starts { own: std::path::Path::new("/own"), itself: false, programs: true };
    let given = narrowing(&less, std::path::Path::new("/tmp/x"), may).paths;
    let runs = |at: &str| given.iter().any(|one| one.path == std::path::Path::new(at) && one.run);
    assert!(runs("/usr/bin/cat") && runs("/bin/sh") && runs("/lib64"));
    for absent in ["/usr", "/usr/bin", "/bin", "/usr/bin/python3"] {
        assert!(!given.iter().any(|one| one.path == std::path::Path::new(absent)), "{absent}");
    }
    assert!(of(&less, &["cat"]).is_ok());
    let refused = of(&less, &["python3"]).unwrap_err();
    assert!(refused.contains("python3"), "{refused}");
    for wrong in ["../x", "-c", "a b", ""] {
        assert!(of(&parent(), &[wrong]).is_err(), "{wrong:?}");
    }
}

/// V33, V34: less is given, and more is refused by name.
#[test]
fn a_child_has_what_it_asks_for_of_what_its_parent_has() {
    let of = |paths: &[&str]| asked(Some(paths), false).map(|policy| paths_of(&policy));
    let sub = of(&["sub"]).unwrap();
    assert!(sub.contains(&("/p/sub".into(), FsAccess::Cow)), "{sub:?}");
    let read = of(&["ro:."]).unwrap();
    assert!(read.contains(&("/p".into(), FsAccess::ReadOnly)), "{read:?}");
    assert!(asked(None, false).is_ok());
    for (paths, named) in [
        (&["/etc/shadow"][..], "/etc/shadow"),
        (&["rw:/docs"], "/docs"),
        (&["/p/secret"], "/p/secret"),
        (&["/"], "/"),
        (&[".."], "/"),
        (&["/p", "ro:/p/sub"], "/p/sub"),
    ] {
        let refused = of(paths).unwrap_err();
        assert!(refused.contains(named), "{paths:?}: {refused}");
    }
    assert!(asked(None, true).unwrap_err().contains("network"));
}

/// V12: nothing of the parent's environment is in it, and without `exec` nothing can be started.
#[test]
fn what_the_kernel_holds_is_no_more_than_the_policy() {
    let child = asked(Some(&["ro:."]), false).unwrap();
    assert!(child.env.is_empty());
    let may = Starts { own: "/own".as_ref(), itself: false, programs: false };
    let held = narrowing(&child, "/tmp/c".as_ref(), may);
    assert!(!held.network && held.paths.iter().all(|path| !path.run));
    let written: Vec<_> = held.paths.iter().filter(|path| path.write).collect();
    assert!(
        written.iter().all(|path| path.path.starts_with("/dev") || path.path.starts_with("/tmp/c"))
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for arguments in [
        json!({}),
        json!({ "task": "t", "tools": [] }),
        json!({ "task": " ", "tools": ["read"] }),
        json!({ "task": "t", "tools": ["read"], "sudo": true }),
        json!({ "task": "t", "tools": ["read"], "temperature": 3 }),
        json!({ "task": "t", "tools": ["read"], "thinking": 40000 }),
    ] {
        assert!(Request::read(arguments.as_object().unwrap()).is_err(), "{arguments}");
    }
}

/// Numbers without a pattern, the same at every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// V34, V35: in 10,000 trees of requests, three levels deep, no child has more than its parent, nor than anybody above.
#[test]
fn no_child_has_more_in_any_tree() {
    const PATHS: &[&str] = &[
        ".",
        "sub",
        "sub/deep",
        "/p",
        "/p/sub",
        "/p/sub/deep/er",
        "/p/secret",
        "/docs",
        "/docs/x",
        "/",
        "/etc",
    ];
    let (mut dice, mut given, mut refused) = (Dice(0x9E37_79B9_7F4A_7C15), 0, 0);
    let mut root = parent();
    let host = "example.com:443".parse().unwrap();
    root.net.allow.insert(host, RuleOrigin::BuiltIn("test"));
    for _ in 0..10_000 {
        let mut above = vec![root.clone()];
        for _ in 0..3 {
            let paths: Vec<String> = (0..dice.roll(4))
                .map(|_| {
                    let path = PATHS[usize::try_from(dice.roll(PATHS.len() as u64)).unwrap()];
                    format!("{}{path}", ["", "ro:", "rw:"][usize::try_from(dice.roll(3)).unwrap()])
                })
                .collect();
            let mut arguments = json!({ "task": "t", "tools": ["read"] });
            if dice.roll(5) > 0 {
                arguments["paths"] = json!(paths);
            }
            arguments["network"] = json!(dice.roll(2) == 0);
            let commands: &[&str] = [&["cat"][..], &["cat", "ls"], &["cat", "ls", "git"]]
                [usize::try_from(dice.roll(3)).unwrap()];
            if dice.roll(2) == 0 {
                arguments["commands"] = json!(commands);
            }
            let request = Request::read(arguments.as_object().unwrap()).unwrap();
            let held = above.last().unwrap();
            let Ok(child) = narrowed(held, &request, &path("/p"), None) else {
                refused += 1;
                continue;
            };
            given += 1;
            for over in &above {
                assert!(policy::is_within(&child, over).is_ok(), "{arguments}");
            }
            let may = Starts { own: "/own".as_ref(), itself: false, programs: true };
            let (less, more) =
                (narrowing(&child, "/c".as_ref(), may), narrowing(held, "/c".as_ref(), may));
            assert!(more.network >= less.network, "{arguments}");
            for one in &less.paths {
                let covers = |other: &jail::within::Path| {
                    one.path.starts_with(&other.path)
                        && other.write >= one.write
                        && other.run >= one.run
                };
                assert!(more.paths.iter().any(covers), "{one:?} of {paths:?}");
            }
            above.push(child);
        }
    }
    assert!(given > 3_000 && refused > 2_000, "{given} given, {refused} refused");
}
