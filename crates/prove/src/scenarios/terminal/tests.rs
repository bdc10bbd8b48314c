//! How typing on a terminal is judged on kernels that take it from users and on those that do not.

use attacks::KERNEL_REFUSES;
use attacks::Outcome;

use super::judge_typing;

#[test]
fn typing_that_only_the_kernel_refused_has_reached_the_terminal() {
    let went_through = |screen: &str, typed: &str| {
        matches!(judge_typing("words", screen, typed), Outcome::Succeeded(_))
    };
    assert!(went_through("", "words\n"));
    assert!(went_through(&format!("__attack: {KERNEL_REFUSES}\r\n"), ""));
    assert!(!went_through("__attack: Operation not permitted (os error 1)\r\n", ""));
    assert!(!went_through("", ""));
}
