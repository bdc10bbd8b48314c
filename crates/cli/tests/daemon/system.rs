//! A daemon for the system, in a mount namespace where the system's places are empty. K3

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::serving::{Place, eventually, has_all, is_root, skip, stockade_binary};

/// K3: the same cages, with the system's state, configuration and socket.
#[test]
fn the_system_is_served_from_its_own_places() {
    if !is_root() {
        return skip("only root serves the system");
    }
    if !has_all(&["unshare", "nsenter", "mount", "curl"]) {
        return;
    }
    let place = Place::new();
    let line = format!(
        "mount -t tmpfs none /run && mount -t tmpfs none /var/lib && exec '{}' serve --system \
         --allow-user 54321",
        stockade_binary().display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &line]);
    command.env("HOME", &place.home).stderr(Stdio::null()).stdin(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    let inside = |words: &[&str]| {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &daemon.id().to_string()]).args(words);
        command.output().unwrap()
    };
    let ask = |path: &str, body: Option<&Value>| -> Value {
        let url = format!("http://stockade{path}");
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut words =
            vec!["curl", "-sS", "--unix-socket", "/run/stockade/daemon.sock", url.as_str()];
        if body.is_some() {
            words.extend(["--data-binary", text.as_str()]);
        }
        serde_json::from_slice(&inside(&words).stdout).unwrap_or_default()
    };
    eventually("the daemon serves", || ask("/v1/health", None)["status"] == "ok");
    let status = ask("/v1/status", None);
    assert_eq!((&status["mode"], &status["uid"]), (&json!("system"), &json!(0)));
    assert_eq!(status["state_directory"], "/var/lib/stockade");
    let request = json!({ "project": place.project, "argv": ["sh", "-c", "id -u; exit 3"] });
    let id = ask("/v1/cages", Some(&request))["id"].as_str().unwrap().to_owned();
    let cage = ask(&format!("/v1/cages/{id}/wait"), None);
    assert_eq!(cage["end"]["exit_code"], 3, "{cage:#}");
    let shown = inside(&[stockade_binary().to_str().unwrap(), "ps", "--system", "--all"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains(&id), "{shown:?}");
    let mode = inside(&["stat", "-c", "%a", "/run/stockade/daemon.sock", "/var/lib/stockade"]);
    assert_eq!(String::from_utf8_lossy(&mode.stdout), "666\n700\n");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
