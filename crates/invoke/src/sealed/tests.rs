//! A sealed request means what was sealed, or nothing.

use super::*;

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

fn sealed() -> Sealed {
    let capability = || RuleOrigin::Capability("fs:read ~/notes/** of x".to_owned());
    let rule = |access, at: &str, origin| FsRule {
        access,
        path: path(at),
        reach: Reach::Anywhere,
        origin,
    };
    let to = |text: &str| text.parse::<Destination>().unwrap();
    let mut policy = Policy::closed("x");
    policy.fs = vec![
        rule(FsAccess::ReadOnly, "/home/u/notes", capability()),
        rule(FsAccess::ReadWrite, "/home/u/out", RuleOrigin::Flag("extra_rw".to_owned())),
        rule(FsAccess::Hide, "/home/u/notes/.x", capability()),
    ];
    policy.net.allow.insert(to("example.com:443"), capability());
    policy.net.allow.insert(Destination::every_name(), capability());
    policy.net.deny.insert(to("bad.example.com:443"), capability());
    policy.limits = Limits { memory_mb: Some(64), walltime_sec: Some(30), ..Limits::default() };
    let origin = RuleOrigin::Capability("x".to_owned());
    let value = Some(ByteString::from(vec![b'a', 0xff]));
    policy.env.insert("A".to_owned(), EnvironmentRule { value, origin });
    Sealed {
        executor: "x".to_owned(),
        version: "1.2.0".to_owned(),
        autonomy: Autonomy::ReadOnly,
        policy,
        confined: vec![Confined { path: path("/home/u/notes/a"), root: path("/home/u/notes") }],
        files: vec![Pinned { path: path("/x/x.py"), sha256: "00".repeat(32) }],
        directory: path("/x"),
    }
}

#[test]
fn what_was_sealed_comes_out() {
    assert_eq!(Sealed::decode(&sealed().encode().unwrap()).unwrap(), sealed());
}

/// T61: no single byte of it can be changed, added or left out.
#[test]
fn a_changed_request_is_refused() {
    let text = sealed().encode().unwrap();
    for place in 0..text.len() {
        let (before, after) = (&text[..place], &text[place + 1..]);
        for changed in [format!("{before}{after}"), format!("{before}#{after}"), before.to_owned()]
        {
            Sealed::decode(&changed).unwrap_err();
        }
    }
    Sealed::decode(&format!("{text} ")).unwrap_err();
}

fn signed(body: &str) -> String {
    format!("{VERSION}.{}.{body}", checksum(body))
}

#[test]
fn another_version_or_an_unknown_word_is_refused() {
    let text = sealed().encode().unwrap();
    let body = text.splitn(3, '.').nth(2).unwrap();
    assert_eq!(Sealed::decode(&signed(body)).unwrap(), sealed());
    assert_eq!(Sealed::decode(&text.replacen('1', "2", 1)), Err(SealError::Version));
    let more = body.replacen('{', "{\"seccomp\":\"none\",", 1);
    assert!(matches!(Sealed::decode(&signed(&more)), Err(SealError::Malformed(_))));
    for bad in ["", "1", "1.", "1..", "{}", "1.x.{}"] {
        Sealed::decode(bad).unwrap_err();
    }
    let relative = body.replacen("\"/x\"", "\"x\"", 1);
    assert!(matches!(Sealed::decode(&signed(&relative)), Err(SealError::Malformed(_))));
}

#[test]
fn what_no_word_of_a_command_line_holds_is_refused() {
    let mut long = sealed();
    long.version = "1".repeat(MOST_BYTES);
    assert_eq!(long.encode(), Err(SealError::TooLong));
    assert_eq!(Sealed::decode(&"1".repeat(MOST_BYTES + 1)), Err(SealError::TooLong));
}

/// What a request has no word for is not dropped in silence.
#[test]
fn what_executors_cannot_have_is_refused() {
    let mut kept = sealed();
    kept.policy.state = State::Scratch;
    let mut open = sealed();
    open.policy.seccomp = Seccomp::Relaxed;
    let mut ports = sealed();
    ports.policy.net.publish.insert(80, RuleOrigin::BuiltIn("x"));
    let mut commands = sealed();
    commands.policy.commands = Commands::None;
    for wrong in [kept, open, ports, commands] {
        assert!(matches!(wrong.encode(), Err(SealError::NotForExecutors(_))));
    }
}
