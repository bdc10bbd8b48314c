//! This very process is found by its own start, and another with its number is not.

use std::time::SystemTime;

use super::{began, booted, is_running};

#[test]
fn a_process_is_known_by_when_it_began() {
    let own = std::process::id();
    let began = began(own).unwrap();
    assert!(began > booted().unwrap());
    let age = SystemTime::now().duration_since(began).unwrap_or_default();
    assert!(age.as_secs() < 3600, "{age:?}");
    assert!(is_running(own));
    assert!(!is_running(u32::MAX));
}
