//! What systemd needs to find in a unit.

use std::path::Path;

use super::unit;
use crate::settings::Mode;

#[test]
fn units_delegate_and_start_this_program() {
    let user = unit(Mode::User, Path::new("/usr/local/bin/stockade"));
    assert!(user.contains("ExecStart=/usr/local/bin/stockade serve\n"), "{user}");
    assert!(user.contains("WantedBy=default.target"));
    let system = unit(Mode::System, Path::new("/opt/100% \"cage\"/stockade"));
    assert!(system.contains("ExecStart=\"/opt/100%% \\\"cage\\\"/stockade\" serve --system\n"));
    for text in [user, system] {
        assert!(text.contains("\nDelegate=yes\n") && text.contains("\nType=notify\n"));
    }
}
