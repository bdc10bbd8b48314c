//! Calls without a cage: only where somebody said so, and said in every result.

use serde_json::{Value, json};

use super::executor::{Called, Tool};
use super::support::{Ended, stockade_binary};

const WHERE: &str = "answer(cage=os.environ.get('STOCKADE_CAGE'))";

/// M11, M56, M59: the environment switches cages off; the same list comes back, and the level is told.
#[test]
fn the_environment_switches_cages_off() {
    let tool = Tool::new("", WHERE);
    for (name, value) in
        [("STOCKADE_SANDBOX", "off"), ("METNOS_SANDBOX", "0"), ("METNOS_SANDBOX", "False")]
    {
        let mut command = tool.command(&["wrap", "@", "--json", "--", "any", "word"]);
        let ended = Ended::of(command.env(name, value).output().unwrap());
        let wrapped: Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
        assert_eq!(wrapped["argv"], json!(["any", "word"]));
        assert_eq!(wrapped["sandbox"]["level"], "none");
        assert!(wrapped["sandbox"]["reason"].as_str().unwrap().contains(name));
        let mut command = tool.command(&["invoke", "@", "--args", "{}"]);
        let called = Called::of(command.env(name, value));
        assert_eq!(called.answer["result"], json!({ "cage": null }));
        assert_eq!(called.answer["sandbox"]["level"], "none");
    }
    // Any other value leaves them on.
    let mut command = tool.command(&["invoke", "@", "--args", "{}"]);
    let called = Called::of(command.env("STOCKADE_SANDBOX", "1"));
    assert_eq!(*called.result(), json!({ "cage": "tool" }));
}

/// T62: without a cage the process group is ended, with its time.
#[test]
fn an_executor_without_a_cage_is_ended_in_time() {
    let marker = format!("32109.{}", std::process::id());
    let tool = Tool::new(
        "timeout_sec = 1",
        "subprocess.Popen(['sleep', args['marker']])\ntime.sleep(1000)",
    );
    let arguments = format!("{{\"marker\": \"{marker}\"}}");
    let mut command = tool.command(&["invoke", "@", "--args", &arguments]);
    let called = Called::of(command.env("STOCKADE_SANDBOX", "off"));
    called.fails("timeout", 124);
    assert_eq!(called.answer["sandbox"]["level"], "none");
    super::executor::assert_gone(&format!("sleep {marker}"));
}

/// M5, M11, M57: where no cage can be built, as inside another one, that is an error; the same list comes
/// back only where the caller allows it.
#[test]
fn where_no_cage_can_be_built_that_is_an_error() {
    let tool = Tool::new("", WHERE);
    let inside = |words: &[&str]| {
        let binary = stockade_binary();
        let directory = binary.parent().unwrap();
        let mut command = tool.place.stockade();
        command
            .args(["run", "--quiet", "--ro"])
            .arg(directory)
            .arg("--ro")
            .arg(&tool.place.project);
        command.args(["--env", "XDG_STATE_HOME=/tmp/state", "--"]).arg(&binary);
        for word in words {
            match *word {
                "@" => command.arg(&tool.manifest),
                word => command.arg(word),
            };
        }
        Ended::of(command.output().unwrap())
    };
    let doctor = inside(&["doctor", "--only-cage", "--json"]);
    let told: Value = serde_json::from_str(&doctor.expect_code(122).stdout).unwrap();
    assert_eq!(told["layers"].as_array().unwrap().len(), 1);
    inside(&["wrap", "@", "--", "true"]).expect_code(122).says("no cage can be built");
    let wrapped = inside(&["wrap", "@", "--json", "--allow-unsandboxed", "--", "true", "x"]);
    let wrapped: Value = serde_json::from_str(&wrapped.expect_code(0).stdout).unwrap();
    assert_eq!(
        (&wrapped["argv"], &wrapped["sandbox"]["level"]),
        (&json!(["true", "x"]), &json!("none"))
    );
    let refused = inside(&["invoke", "@", "--args", "{}"]);
    let answer: Value = serde_json::from_str(&refused.expect_code(122).stdout).unwrap();
    assert_eq!(answer["error"]["kind"], "unavailable");
    let allowed = inside(&["invoke", "@", "--args", "{}", "--allow-unsandboxed"]);
    let answer: Value = serde_json::from_str(&allowed.expect_code(0).stdout).unwrap();
    assert_eq!((&answer["ok"], &answer["sandbox"]["level"]), (&json!(true), &json!("none")));
}

/// M6, M13, M14, M60, M76: `status_torna_dict` of the document: the keys are there, and a cage was really built.
#[test]
fn status_returns_dict() {
    let status = invoke::status(Some(&stockade_binary()));
    let told = serde_json::to_value(&status).unwrap();
    for key in [
        "bwrap_available",
        "bwrap_path",
        "disabled_via_env",
        "active",
        "native_available",
        "reason",
    ] {
        assert!(told.get(key).is_some(), "{key}");
    }
    assert!(status.native_available, "{told:#}");
    assert_eq!(status.active, !status.disabled_via_env);
    assert_eq!(status.bwrap_available, status.bwrap_path.is_some());
    let broken = invoke::status(Some(std::path::Path::new("/nonexistent/stockade")));
    assert!(!broken.native_available && !broken.active);
    assert!(broken.reason.unwrap().contains("cannot be found out"));
}
