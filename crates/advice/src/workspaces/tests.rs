//! The sentences about changes, word by word.

use cage::{ChangeCounts, WorkspaceOutcome};
use plan::HostPath;

use super::changed;

#[test]
fn a_sentence_says_what_to_type() {
    let outcome = |changes| WorkspaceOutcome {
        of: HostPath::new("/srv/app").unwrap(),
        session: "app-x".to_owned(),
        changes,
    };
    let counts = ChangeCounts { added: 2, deleted: 1, ..ChangeCounts::default() };
    let told = changed(&[
        outcome(Ok(counts)),
        outcome(Ok(ChangeCounts::default())),
        outcome(Err("too much".to_owned())),
    ]);
    assert_eq!(
        told,
        [
            "changed in `/srv/app`: 2 added, 1 deleted; the host's files are as they were: `stockade diff \
             app-x` shows the changes, `stockade apply app-x` brings them there",
            "nothing was changed in `/srv/app`",
            "what was changed in `/srv/app` cannot be told (too much); session `app-x` keeps it",
        ]
    );
}
