//! Unmodified clients, told of the proxy and not told: what is allowed works, and what is not fails
//! at once and is reported by host and port.

use super::support::{has, has_all};
use super::world::{FAR, FAR6, World, data};

/// K70, K79, K81, K103, K106, K112, T36
#[test]
fn curl() {
    client(&Client { program: "curl", line: "curl -sSf -m 20 \"$URL\"", ..PLAIN });
}

/// K70, K81, T36
#[test]
fn python_urllib() {
    let line = "/usr/bin/python3 -c 'import os, urllib.request
print(urllib.request.urlopen(os.environ[\"URL\"], timeout=20).read().decode())'";
    client(&Client { program: "python3", line, ..PLAIN });
}

/// K70, K81, T36
#[test]
fn python_requests() {
    let line = "/usr/bin/python3 -c 'import os, requests
answer = requests.get(os.environ[\"URL\"], timeout=20)
answer.raise_for_status()
print(answer.text)'";
    if testing::has_python_module("requests") {
        client(&Client { program: "python3", line, ..PLAIN });
    }
}

/// K81, T36: `fetch` of Node.js knows no proxy.
#[test]
fn node_fetch() {
    // A refusal that comes as an answer is none for `fetch`, and where a connection is reset early it
    // never says anything and the process just ends.
    let line = "node -e 'process.exitCode = 1; fetch(process.env.URL)
        .then(answer => answer.ok ? answer.text() : Promise.reject(answer.status))
        .then(text => { console.log(text); process.exitCode = 0 })
        .catch(error => { console.error(error.cause ?? error); process.exit(1) })'";
    client(&Client { program: "node", line, ..PLAIN });
}

/// K81, T36: a client of the Java library, which knows no proxy variable and has a store of its
/// own for certificates.
#[test]
fn java_http_client() {
    let prepare = "keytool -importcert -noprompt -alias far -file ca.pem -keystore far.store \
         -storepass changeit -storetype PKCS12 2>/dev/null && javac -d . Fetch.java";
    let line = "java -XX:TieredStopAtLevel=1 -Djavax.net.ssl.trustStore=far.store \
         -Djavax.net.ssl.trustStorePassword=changeit -cp . Fetch \"$URL\"";
    let files = &[("Fetch.java", FETCH)];
    if has_all(&["java", "keytool"]) {
        client(&Client { program: "javac", prepare, line, files });
    }
}

/// K68, K80, K88, T36: a program without a C library's resolver and without any proxy: what a
/// statically linked Go program does.
#[test]
fn static_program_with_its_own_resolver() {
    if !has("cc") {
        return;
    }
    let Some(world) = World::new() else { return };
    let program = world.place.project.join("static_client");
    let compiled = std::process::Command::new("cc")
        .args(["-static", "-O1", "-o"])
        .arg(&program)
        .arg(data("static_client.c"))
        .status()
        .unwrap();
    assert!(compiled.success());
    let allowed = ["web.example:80"];
    let run = |line: &str| world.shell(&allowed, line);
    run("./static_client web.example 80").works().prints("hello from web.example");
    run("./static_client other.example 80").name_is_refused("other.example");
    run("./static_client 203.0.113.2 80").is_refused(FAR, 80);
    run("./static_client web.example 8080").is_refused("web.example", 8080);
}

/// K235: an entry with a port is valid for names as well, and an entry without one for all ports.
#[test]
fn ports_of_entries() {
    let Some(world) = World::new() else { return };
    let get = "curl -sSf -m 20 http://web.example:8080/";
    world.shell(&["web.example"], get).works();
    world.shell(&["web.example:8080"], get).works();
    world.shell(&["web.example:8000-8100"], get).works();
    world.shell(&["web.example:8081-8100"], get).is_refused("web.example", 8080);
}

/// K90, K91, K92
#[test]
fn wildcards() {
    let Some(world) = World::new() else { return };
    let get = |host: &str| format!("curl -sSf -m 20 http://{host}/");
    let (apex, one, two) = ("web.example", "sub.web.example", "deep.sub.web.example");
    let table = [
        ("web.example", [true, false, false]),
        ("*.web.example", [false, true, false]),
        ("**.web.example", [false, true, true]),
    ];
    for (entry, expected) in table {
        for (host, works) in [apex, one, two].into_iter().zip(expected) {
            for run in [World::shell, World::shell_without_proxy] {
                let ended = run(&world, &[entry], &get(host));
                match works {
                    true => ended.works().prints(&format!("hello from {host}")),
                    false => ended.name_is_refused(host),
                };
            }
        }
    }
}

/// K99, K117: either family alone, and a name that has both.
#[test]
fn both_families() {
    let Some(world) = World::new() else { return };
    for host in ["v4.example", "v6.example", "alias.example"] {
        let line = format!("curl -sSf -m 20 https://{host}/");
        for run in [World::shell, World::shell_without_proxy] {
            run(&world, &[host], &line).works().prints(&format!("hello from {host}"));
        }
    }
    let line = "curl -sSf -m 20 -6 https://web.example/ && curl -sSf -m 20 -4 https://web.example/";
    world.shell_without_proxy(&["web.example"], line).works();
}

/// K93, K105: addresses are allowed by entries for addresses, and by nothing else.
#[test]
fn literal_addresses() {
    let Some(world) = World::new() else { return };
    for run in [World::shell, World::shell_without_proxy] {
        run(&world, &["203.0.113.0/24"], "curl -sSf -m 20 http://203.0.113.2/").works();
        run(&world, &["[2001:db8:1::2]:80"], "curl -sSf -m 20 'http://[2001:db8:1::2]/'").works();
        run(&world, &["10.99.0.2"], "curl -sSf -m 20 http://10.99.0.2/").works();
        run(&world, &["web.example"], "curl -sSf -m 20 'http://[2001:db8:1::2]/'")
            .is_refused(FAR6, 80);
        run(&world, &["203.0.113.0/24"], "curl -sSf -m 20 http://web.example/")
            .name_is_refused("web.example");
    }
}

/// What is known of one kind of client.
struct Client {
    /// The program that must be installed.
    program: &'static str,
    /// What is done before, on the host, in the project.
    prepare: &'static str,
    /// A line of shell that gets the variable `URL`.
    line: &'static str,
    /// Files that it needs.
    files: &'static [(&'static str, &'static str)],
}

/// Allowed: one name at one port. Refused: another name, its address, another port.
fn client(client: &Client) {
    if !has(client.program) {
        return;
    }
    let Some(world) = World::new() else { return };
    for (name, text) in client.files {
        world.place.write(name, text);
    }
    world.uncaged_shell(client.prepare).expect_code(0);
    let get = |url: &str| format!("export URL={url}; {}", client.line);
    // The twin: uncaged, every one of these works.
    for url in ["https://web.example/", "https://other.example/", "https://web.example:8443/"] {
        world.uncaged_shell(&get(url)).expect_code(0).prints("hello from");
    }
    for run in [World::shell, World::shell_without_proxy] {
        let ask = |url: &str| run(&world, &["web.example:443"], &get(url));
        ask("https://web.example/").works().prints("hello from web.example");
        world.forget();
        ask("https://other.example/").name_is_refused("other.example");
        ask(&format!("https://{FAR}/")).is_refused(FAR, 443);
        ask("https://web.example:8443/").is_refused("web.example", 8443);
        ask("http://web.example/").is_refused("web.example", 80);
        assert_eq!(world.contacts("far"), Vec::<serde_json::Value>::new());
        assert!(!world.names_asked().contains(&"other.example".to_owned()));
    }
}

const PLAIN: Client = Client { program: "", prepare: "true", line: "", files: &[] };
const FETCH: &str = "import java.net.*;
public class Fetch {
    public static void main(String[] words) throws Exception {
        URLConnection connection = new URL(words[0]).openConnection();
        connection.setConnectTimeout(20000);
        connection.setReadTimeout(20000);
        System.out.print(new String(connection.getInputStream().readAllBytes()));
    }
}
";

/// K47, K67: the cage's own namespace is set to what suits connections that stay in it, and the host's
/// settings are not touched.
#[test]
fn loopback_is_suited_to_inside_alone() {
    let Some(world) = World::new() else { return };
    let settings = "cd /proc/sys/net/ipv4; cat tcp_tw_reuse tcp_congestion_control";
    let before = world.uncaged_shell(settings).stdout;
    let inside = world.shell(&["web.example"], settings).ended;
    assert_eq!(inside.stdout, "1\nreno\n", "{}", inside.stderr);
    assert_ne!(before, inside.stdout, "the host has it already, and nothing is shown");
    assert_eq!(world.uncaged_shell(settings).stdout, before);
}
