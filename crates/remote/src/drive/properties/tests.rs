//! Properties of files, ours and forged ones.

use serde_json::json;

use super::*;

fn with(bytes: usize) -> Notes {
    let xattrs = [(b"user.a".to_vec(), vec![b'x'; bytes])].into();
    Notes { mode: Some(0o600), xattrs, ..Notes::default() }
}

#[test]
fn notes_of_every_length_come_back() {
    for bytes in (0..150).chain((150..2300).step_by(43)) {
        let notes = with(bytes);
        let all = properties(&notes, None).unwrap();
        assert!(all.len() <= 28);
        for (name, value) in &all {
            assert!(name.len() + value.as_str().unwrap().len() <= 124);
        }
        assert_eq!(noted(&json!({ "appProperties": all })), Some(notes), "{bytes}");
    }
    assert_eq!(properties(&with(2500), None), None);
}

#[test]
fn what_is_no_longer_needed_goes() {
    let all = properties(&with(1), Some(&with(500))).unwrap();
    assert!(all.values().any(Value::is_null));
    assert!(all["stockade00"].is_string());
}

/// A17: properties that somebody else wrote are no notes, and nothing of them is taken.
#[test]
fn forged_properties_are_none() {
    for all in [
        json!({}),
        json!(7),
        json!({ "stockade00": 7 }),
        json!({ "stockade00": "" }),
        json!({ "stockade00": "1" }),
        json!({ "stockade00": "9:1" }),
        json!({ "stockade00": "1:12" }),
        json!({ "stockade00": "18446744073709551616:1" }),
        json!({ "stockade00": "99999:1", "stockade01": "x" }),
        json!({ "stockade00": "6:1;m64", "stockade02": "4" }),
        json!({ "stockade00": "5:1;m64é" }),
        json!({ "stockade00": "9:1;kdevice" }),
    ] {
        assert_eq!(noted(&json!({ "appProperties": all })), None, "{all}");
    }
    let left = json!({ "stockade00": "6:1;m644", "stockade01": "left" });
    assert_eq!(noted(&json!({ "appProperties": left })).unwrap().mode, Some(0o644));
    assert_eq!(named(&json!({ "appProperties": { "stockadename": 7 } })), None);
    assert!(name_of(&"x".repeat(113), &Notes::default()).is_none());
}
