//! Where configuration and state lie, by the environment alone.

use super::*;

/// Names and values.
type Variables<'a> = &'a [(&'a str, &'a str)];

#[test]
fn locations_follow_the_environment() {
    let check = |variables: Variables<'_>, account| {
        let found = Locations::from_environment(
            |name| {
                let set = variables.iter().find(|(variable, _)| *variable == name);
                set.map(|(_, value)| std::ffi::OsString::from(value))
            },
            account,
        );
        let text =
            |path: &Option<HostPath>| path.as_ref().map_or("none".to_owned(), ToString::to_string);
        let warned: Vec<_> = found.warnings.iter().map(|warning| warning.variable).collect();
        let [configuration, state, runtime] =
            [&found.configuration, &found.state, &found.runtime].map(text);
        format!("{configuration} {state} {runtime} {}", warned.join(","))
    };
    let home = ("HOME", "/home/user");
    let table: [(Variables<'_>, Account, &str); 9] = [
        (
            &[home],
            Account::User,
            "/home/user/.config/stockade/config.toml /home/user/.local/state/stockade none ",
        ),
        (
            &[home, ("XDG_CONFIG_HOME", "/c/"), ("XDG_STATE_HOME", "/s")],
            Account::User,
            "/c/stockade/config.toml /s/stockade none ",
        ),
        (
            &[home, ("XDG_CONFIG_HOME", "relative"), ("XDG_STATE_HOME", "/a/../b")],
            Account::User,
            "/home/user/.config/stockade/config.toml /home/user/.local/state/stockade none \
             XDG_CONFIG_HOME,XDG_STATE_HOME",
        ),
        (&[], Account::Root, "/etc/stockade/config.toml /var/lib/stockade /run/stockade "),
        (
            &[home],
            Account::Root,
            "/home/user/.config/stockade/config.toml /var/lib/stockade /run/stockade ",
        ),
        (
            &[("XDG_STATE_HOME", "/s"), ("XDG_RUNTIME_DIR", "/run/user/7")],
            Account::User,
            "none /s/stockade /run/user/7/stockade ",
        ),
        (&[], Account::User, "none none none "),
        (&[("HOME", "")], Account::User, "none none none "),
        (&[("HOME", ".")], Account::User, "none none none HOME"),
    ];
    for (variables, account, expected) in table {
        assert_eq!(check(variables, account), expected);
    }
}
