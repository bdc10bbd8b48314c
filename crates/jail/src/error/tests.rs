//! Which failures are those of a path that somebody else changed.

use super::*;

/// T76: a wall that is not as it should be is never taken for a path that was moved.
#[test]
fn only_paths_that_are_gone_were_changed() {
    let kernel = |step, errno| SetupFailure::kernel(step, "/p/.envrc", errno);
    let found = |step, detail| SetupFailure::found(step, "/p/.envrc", detail);
    for (failure, expected) in [
        (kernel(Step::Mount, Errno::NOENT), true),
        (kernel(Step::Mount, Errno::LOOP), true),
        (kernel(Step::Mount, Errno::PERM), false),
        (kernel(Step::Mount, Errno::ACCESS), false),
        (kernel(Step::Name, Errno::NOENT), false),
        (kernel(Step::Execute, Errno::NOENT), false),
        (found(Step::Mount, REPLACED), true),
        (found(Step::Mount, "its source is missing"), false),
        (found(Step::Verify, NOT_MOUNTED), true),
        (found(Step::Verify, "it is not mounted ro"), false),
        (found(Step::Verify, "the plan does not have this mount"), false),
    ] {
        assert_eq!(failure.is_of_changed_path(), expected, "{failure}");
    }
}
