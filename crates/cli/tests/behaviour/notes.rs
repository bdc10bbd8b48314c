//! What `stockade run` says before the program starts.

use super::support::Place;

/// K183: a flag that does nothing is not silent; a policy may hide what one day will exist.
#[test]
fn there_is_nothing_to_hide() {
    let place = Place::new();
    let note = format!("there is nothing to hide at `{}/absent`", place.project.display());
    place.shell(&["--hide", "absent"], "true").expect_code(0).says(&note);
    place.ask(["check", "--hide", "absent"]).expect_code(0).says(&note);
    assert_eq!(place.shell(&["--quiet", "--hide", "absent"], "true").stderr, "");
    place.write("present", "x");
    assert_eq!(place.shell(&["--hide", "present"], "true").stderr, "");
    place.default_cage("fs = [{ ro = \".\" }, { hide = \"absent\" }]");
    assert_eq!(place.shell(&[], "true").stderr, "");
}
