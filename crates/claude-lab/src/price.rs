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
    fn usd(&self, tokens: &Tokens) -> f64 {
        let million = |count: u64, price: f64| count as f64 * price / 1e6;
        million(tokens.input, self.input)
            + million(tokens.output, self.output)
            + million(tokens.cache_read, self.cache_read)
            + million(tokens.cache_write_5m, self.cache_write_5m)
            + million(tokens.cache_write_1h, self.cache_write_1h)
    }
}

/// What a model's requests cost: one price, or another one for long inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceList {
    /// The usual price.
    pub usual: Price,
    /// The price of a request whose whole input has more than so many tokens.
    pub above: Option<(u64, Price)>,
}

impl PriceList {
    /// What one request with these tokens costs, in dollars.
    pub fn usd(&self, tokens: &Tokens) -> f64 {
        match &self.above {
            Some((most, price)) if tokens.whole_input() > *most => price.usd(tokens),
            _ => self.usual.usd(tokens),
        }
    }
}

/// The list price of a model; an id may carry a date (`-20250929`). None: the lab doesn't know the model.
pub fn of_model(id: &str) -> Option<PriceList> {
    let plain = match id.rsplit_once('-') {
        Some((plain, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => id,
    };
    let mut found = None;
    for (_, above, price) in rows().iter().filter(|(name, ..)| *name == plain) {
        match above {
            None => found = Some(PriceList { usual: *price, above: None }),
            Some(most) => {
                found = found.map(|list: PriceList| PriceList { above: Some((*most, *price)), ..list });
            }
        }
    }
    found
}

/// The ids of the models that the lab knows, without dates.
pub fn models() -> impl Iterator<Item = &'static str> {
    rows().iter().filter(|(_, above, _)| above.is_none()).map(|(name, ..)| *name)
}

type Row = (&'static str, Option<u64>, Price);

fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| include_str!("price/list.txt").lines().filter_map(row).collect())
}

fn row(line: &'static str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| !name.starts_with('#'))?;
    let (name, above) = match name.split_once('>') {
        Some((name, most)) => (name, Some(most.parse().ok()?)),
        None => (name, None),
    };
    let mut price = || words.next()?.parse::<f64>().ok();
    let row = Price {
        input: price()?,
        output: price()?,
        cache_read: price()?,
        cache_write_5m: price()?,
        cache_write_1h: price()?,
    };
    Some((name, above, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_price_and_no_model_stands_twice() {
        let lines = include_str!("price/list.txt")
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        assert_eq!(lines.count(), rows().len());
        let mut names: Vec<_> = rows().iter().map(|(name, above, _)| (name, above)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), rows().len());
        assert!(models().count() >= 5);
        for (name, above, _) in rows() {
            let listed = of_model(name).expect(name);
            assert!(above.is_none() || listed.above.map(|(most, _)| most) == *above, "{name}");
        }
    }

    #[test]
    fn ids_with_a_date() {
        assert!(of_model("claude-haiku-4-5").is_some());
        assert_eq!(of_model("claude-haiku-4-5-20251001"), of_model("claude-haiku-4-5"));
        assert_eq!(of_model("claude-nonsense"), None);
        assert_eq!(of_model("claude-haiku-4-5-2025100x"), None);
    }

    #[test]
    fn a_long_input_has_its_own_price() {
        let list = of_model("claude-haiku-5-5").unwrap();
        let tokens = |input| Tokens { input, cache_read: 60_000, output: 1000, ..Tokens::default() };
        assert!((list.usd(&tokens(40_000)) - 0.005_1).abs() < 1e-12);
        assert!((list.usd(&tokens(50_000)) - 0.030_5).abs() < 1e-12);
    }
}
