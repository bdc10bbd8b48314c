//! Tokens and money, by table.

use serde_json::json;

use super::{Cost, Prices, Usage};

#[test]
fn each_protocol_reports_the_same_tokens() {
    let whole = Usage { input: 70, cached: 30, cache_written: 0, output: 5 };
    for (usage, expected) in [
        (json!({ "input_tokens": 70, "cache_read_input_tokens": 30, "output_tokens": 5 }), whole),
        (
            json!({ "prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 30 } }),
            whole,
        ),
        (
            json!({ "input_tokens": 100, "output_tokens": 5, "input_tokens_details": { "cached_tokens": 30 } }),
            whole,
        ),
        (json!({ "input_tokens": -1, "output_tokens": "many" }), Usage::default()),
        (json!("nothing"), Usage::default()),
    ] {
        let mut read = Usage::default();
        read.read(&usage);
        assert_eq!(read, expected, "{usage}");
    }
}

#[test]
fn money_is_rounded_up_and_never_overflows() {
    let prices = Prices {
        input: Cost(3_000_000),
        cached: Cost(300_000),
        cache_written: Cost(3_750_000),
        output: Cost(15_000_000),
    };
    assert_eq!(prices.of(&Usage { input: 1, ..Usage::default() }), Cost(3));
    assert_eq!(prices.of(&Usage { cached: 1, ..Usage::default() }), Cost(1));
    assert_eq!(prices.of(&Usage { output: 1_000_000, ..Usage::default() }).to_string(), "$15.0000");
    assert_eq!(prices.of(&Usage { output: u64::MAX, ..Usage::default() }), Cost(u64::MAX));
}
