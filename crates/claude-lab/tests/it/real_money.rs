//! The price list is what the real `claude` counts with.

use claude_lab::Bill;
use claude_lab::price::{self, bill::Lane};
use serde_json::json;

use super::answers::lab;
use super::child::{Surroundings, VERSIONS, model_tokens};

/// Models that 2.1.200 knows at the same price; it takes the later ones for others.
const KNOWN_TO_200: [&str; 8] = [
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
    "claude-opus-4-5",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-opus-5",
];

/// One child runs a turn on every model; each class of tokens has a count of its own, so that no two prices can stand
/// for one another.
#[test]
fn every_listed_price_is_the_cli_s() {
    for version in VERSIONS {
        let lab = lab(
            "when \"long\"\n say x\n usage input=150000 output=70 cache_read=500 cache_write_5m=1100 cache_write_1h=1300\notherwise\n say x\n usage input=1000 output=70 cache_read=500 cache_write_5m=1100 cache_write_1h=1300\n",
        );
        let home = Surroundings::new();
        let mut child = home.start(version, &lab.base_url(), &["--model", "claude-haiku-4-5"]);
        let mut last = None;
        for model in price::models().filter(|model| version != "2.1.200" || KNOWN_TO_200.contains(model)) {
            let before = lab.bill();
            child.control(json!({"subtype": "set_model", "model": model}));
            let long = price::of_model(model).is_some_and(|list| list.above.is_some());
            let result = child.turn(if long { "long" } else { "short" });
            assert_eq!(result["is_error"], false, "{version} {model}: {result}");
            let mut charges = lab.bill().per_request.split_off(before.per_request.len());
            // `set_model` asks the API whether it knows the model; the CLI does not count that request.
            charges.retain(|charge| charge.lane != Lane::Side);
            let [charge] = charges.as_slice() else { panic!("{version} {model}: {charges:?}") };
            assert_eq!(charge.model, model, "{version}");
            let counted = result["modelUsage"][model]["costUSD"].as_f64().expect("dollars");
            assert!((counted - charge.usd).abs() < 1e-9, "{version} {model}: {counted} and {}", charge.usd);
            assert_eq!(model_tokens(&result, model).whole_input(), charge.tokens.whole_input());
            last = Some(result);
        }
        let total = last.expect("a model")["total_cost_usd"].as_f64().expect("dollars");
        let charges = lab.bill().per_request.into_iter().filter(|charge| charge.lane != Lane::Side);
        let charged = Bill::of(charges.collect()).total().usd;
        assert!((total - charged).abs() < 1e-9, "{version}: {total} and {charged}");
        child.end();
    }
}
