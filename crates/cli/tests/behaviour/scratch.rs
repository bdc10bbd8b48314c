//! `/scratch`: gone with the cage, or kept for the next one of the same name and project.

use super::support::Place;

/// K20, K36, K38
#[test]
fn a_kept_scratch_is_there_the_next_time() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]\nstate = \"scratch\"");
    place.shell(&[], "echo kept > /scratch/file").expect_code(0);
    place.shell(&[], "cat /scratch/file").expect_code(0).prints("kept");
    place.shell(&["--state", "ephemeral"], "cat /scratch/file").expect_code(1);
    place.policy(
        "version = 1\n[cage.default]\nstate = \"scratch\"\n[cage.other]\nstate = \"scratch\"\n",
    );
    place.shell(&["--cage", "other"], "cat /scratch/file").expect_code(1);
    let other = Place::new();
    other.shell(&["--state", "scratch"], "ls -A /scratch | wc -l").expect_code(0).prints("0");
}
