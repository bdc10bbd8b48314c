//! Results around the bound. V39

use super::Spill;

#[test]
fn what_is_large_goes_to_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let spill = Spill::new(Some(directory.path().join("results")), 300);
    let small = "x".repeat(300);
    assert_eq!(spill.bound("t", small.clone()).expect("bounded").text, small);
    let large = "é\n".repeat(1000);
    let bounded = spill.bound("t", large.clone()).expect("bounded");
    let file = bounded.file.expect("a file");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), large);
    assert!(
        bounded.text.len() < 700
            && bounded.text.contains(&file)
            && bounded.text.contains("1000 lines"),
        "{}",
        bounded.text
    );
    let nowhere = Spill::new(None, 300).bound("t", large).expect("bounded");
    assert!(nowhere.file.is_none() && nowhere.text.len() < 700);
}
