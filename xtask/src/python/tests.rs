//! What is read from pytest's report.

use super::*;

#[test]
fn results_are_counted() {
    let of = |passed, failed, skipped| Totals { passed, failed, skipped };
    let head = "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\">";
    let suite = "<testsuite name=\"pytest\" errors=\"1\" failures=\"2\" skipped=\"3\" tests=\"10\" time=\"0.1\">\
                 <testcase name=\"tests=&quot;9\" /></testsuite></testsuites>";
    assert_eq!(read_results(&format!("{head}{suite}")), of(4, 3, 3));
    assert_eq!(read_results(head), of(0, 0, 0));
    assert_eq!(read_results(""), of(0, 0, 0));
    assert_eq!(read_results("<testsuite tests=\"x\" failures=\"7"), of(0, 7, 0));
}
