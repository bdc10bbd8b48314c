//! How servers of tools are named.

use super::of;

fn names(flags: &[&str], text: Option<&str>) -> Result<Vec<String>, String> {
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let servers = of(&flags, text)?;
    Ok(servers
        .iter()
        .map(|server| format!("{}:{}={:?}", server.name, server.tools.join(","), server.command))
        .collect())
}

#[test]
fn servers_are_named_by_flag_or_file() {
    let inline = names(&["files:read,list=npx -y server /data"], None).unwrap();
    assert_eq!(inline, ["files:read,list=[\"npx\", \"-y\", \"server\", \"/data\"]"]);
    let text = "[server.git]\ncommand = [\"git-server\"]\ntools = [\"log\"]\nro = [\".\"]\n";
    assert_eq!(names(&["git"], Some(text)).unwrap(), ["git:log=[\"git-server\"]"]);
}

#[test]
fn what_names_no_server_is_refused() {
    for (flags, text, why) in [
        (&["git"][..], None, "no server `git`"),
        (&["a=x"], None, "has no tools"),
        (&["a:t="], None, "has no command"),
        (&["a b:t=x"], None, "is no name"),
        (&["a:t=x", "a:u=y"], None, "two servers"),
        (&["a"], Some("[server.a]\ncomand = []\n"), "comand"),
    ] {
        let refused = names(flags, text).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
