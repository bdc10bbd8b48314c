//! The same scripts by Node.js and as a guest, over each engine: what they write, and how they end, is equal. A23, A24

use std::process::Command;

use engines::End;

use crate::program::{engines, world};

const SCRIPTS: &[(&str, &str)] = &[
    ("arguments.js", include_str!("../../scripts/arguments.js")),
    ("bytes.js", include_str!("../../scripts/bytes.js")),
    ("errors.js", include_str!("../../scripts/errors.js")),
    ("files.js", include_str!("../../scripts/files.js")),
    ("kinds.js", include_str!("../../scripts/kinds.js")),
    ("later.js", include_str!("../../scripts/later.js")),
    ("modules.mjs", include_str!("../../scripts/modules.mjs")),
    ("values.js", include_str!("../../scripts/values.js")),
];

/// A23, A24
#[test]
fn scripts_do_as_node_does() {
    if !testing::has("node") {
        return;
    }
    for (name, source) in SCRIPTS {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join(name), source).unwrap();
        let by_node = Command::new("node")
            .arg(name)
            .current_dir(place.path())
            .env_remove("NODE_OPTIONS")
            .output()
            .unwrap();
        let expected = String::from_utf8(by_node.stdout).unwrap();
        let expected = expected.replace(&*place.path().to_string_lossy(), "/work");
        for engine in engines() {
            let (mut world, kept) = world(&engine);
            let path = format!("/work/{name}");
            world
                .files
                .write_file(&crate::program::caller(), path.as_bytes(), source.as_bytes())
                .unwrap();
            world.working_directory = b"/work".to_vec();
            let end = engines::javascript::run(name.as_bytes(), world).unwrap();
            let shown = String::from_utf8(kept.0.bytes()).unwrap();
            let complaint = String::from_utf8_lossy(&kept.1.bytes()).into_owned();
            let differs = expected.lines().zip(shown.lines()).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{name} over {}: {complaint}", engine.0);
            assert_eq!(expected, shown, "{name} over {}: {complaint}", engine.0);
            assert_eq!(Some(end), by_node.status.code().map(End::Exited), "{name}: {complaint}");
        }
    }
}
