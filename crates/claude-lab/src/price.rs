//! What requests cost: Anthropic's list prices, in a data file.

pub mod bill;

use std::sync::OnceLock;

use crate::price::bill::Tokens;

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Input that the cache has nothing to do with.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: f64,
    /// Input written to the cache for one hour.
    pub cache_write_1h: f64,
}

impl Price {
    /// What so many tokens cost, in dollars.
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let million = |count: u64, price: f64| count as f64 * price / 1e6;
        million(tokens.input, self.input)
            + million(tokens.output, self.output)
            + million(tokens.cache_read, self.cache_read)
            + million(tokens.cache_write_5m, self.cache_write_5m)
            + million(tokens.cache_write_1h, self.cache_write_1h)
    }
}

/// The list price of a model; an id may carry a date (`-20250929`). None: the lab doesn't know the model.
pub fn of_model(id: &str) -> Option<Price> {
    let plain = match id.rsplit_once('-') {
        Some((plain, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => id,
    };
    list().iter().find(|(name, _)| *name == plain).map(|(_, price)| *price)
}

/// Every model the lab knows, with its price.
pub fn list() -> &'static [(&'static str, Price)] {
    static LIST: OnceLock<Vec<(&'static str, Price)>> = OnceLock::new();
    LIST.get_or_init(|| include_str!("price/list.txt").lines().filter_map(row).collect())
}

fn row(line: &'static str) -> Option<(&'static str, Price)> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| !name.starts_with('#'))?;
    let mut price = || words.next()?.parse::<f64>().ok();
    let row = Price {
        input: price()?,
        output: price()?,
        cache_read: price()?,
        cache_write_5m: price()?,
        cache_write_1h: price()?,
    };
    Some((name, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_price_and_no_model_stands_twice() {
        let rows = include_str!("price/list.txt").lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
        assert_eq!(rows.count(), list().len());
        let mut names: Vec<_> = list().iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), list().len());
        assert!(list().len() >= 5);
    }

    #[test]
    fn ids_with_a_date() {
        assert!(of_model("claude-haiku-4-5").is_some());
        assert_eq!(of_model("claude-haiku-4-5-20251001"), of_model("claude-haiku-4-5"));
        assert_eq!(of_model("claude-nonsense"), None);
        assert_eq!(of_model("claude-haiku-4-5-2025100x"), None);
    }
}
