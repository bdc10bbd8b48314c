//! What systemd is asked for, and what is believed of its answers.

use super::*;

#[test]
fn quotas_of_any_period() {
    assert_eq!(per_second("150000 100000\n"), Some(1_500_000));
    assert_eq!(per_second("max 100000\n"), None);
    assert_eq!(per_second("5 0"), None);
    assert_eq!(per_second(""), None);
}
