//! Accepted figures: a checked-in file of medians, and how far a new run may be from them. Pure.

use crate::figure::Figure;
use toml::Table;

/// How many times worse than accepted a figure may be. Machines differ and are busy; what a mistake costs is more.
const TOLERANCE: f64 = 3.0;

/// What is wrong with `figures`, one sentence each; none: all are accepted. Every figure that is compared must be in the
/// file, and nothing else.
pub(crate) fn complaints(figures: &[Figure], file: &str) -> Vec<String> {
    let accepted: Table = match file.parse() {
        Ok(table) => table,
        Err(error) => return vec![format!("the file of accepted figures can't be read: {error}")],
    };
    let mut out = Vec::new();
    for figure in figures.iter().filter(|f| f.gated) {
        let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|i| i as f64));
        let Some(was) = accepted.get(figure.key).and_then(number).filter(|n| *n > 0.0) else {
            out.push(format!("{} has no accepted figure: run scripts/bench --accept", figure.key));
            continue;
        };
        let worse = figure.worse_than(was);
        if worse.is_nan() || worse > TOLERANCE {
            let (key, median) = (figure.key, figure.median());
            out.push(format!("{key} is {median:.2}, {worse:.1} times worse than the accepted {was}"));
        }
    }
    let gone = |key: &&String| !figures.iter().any(|f| f.gated && f.key == *key);
    out.extend(accepted.keys().filter(gone).map(|key| format!("{key} is accepted and was not measured")));
    out
}

/// The file that accepts these figures.
pub(crate) fn file(figures: &[Figure]) -> String {
    let head = "# Medians that `scripts/bench --check` compares with; written by `scripts/bench --accept`.\n";
    let digits = |value: f64| if value < 1_000.0 { 2 } else { 0 };
    let row = |f: &Figure| format!("{} = {:.*}\n", f.key, digits(f.median()), f.median());
    let rows = figures.iter().filter(|f| f.gated).map(row);
    rows.fold(head.to_owned(), |text, row| text + &row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    fn figures() -> Vec<Figure> {
        let new = |key, unit, value| Figure::new(key, key, unit, vec![value]);
        vec![
            new("wake", Unit::Millis, 9.0),
            new("lines", Unit::PerSecond, 100.0),
            new("peer", Unit::Millis, 1.0).beside(),
        ]
    }

    #[test]
    fn three_times_worse_is_too_much() {
        assert_eq!(complaints(&figures(), "wake = 3.0\nlines = 300").len(), 0);
        assert_eq!(complaints(&figures(), "wake = 2.99\nlines = 300").len(), 1);
        assert_eq!(complaints(&figures(), "wake = 3.0\nlines = 301").len(), 1);
        assert_eq!(complaints(&figures(), &file(&figures())).len(), 0);
    }

    #[test]
    fn the_file_must_name_what_is_measured() {
        assert_eq!(complaints(&figures(), "wake = 9.0").len(), 1, "one is missing");
        assert_eq!(complaints(&figures(), "wake = 9.0\nlines = 100\npeer = 1.0").len(), 1, "one too many");
        assert_eq!(complaints(&figures(), "wake = \"9\"\nlines = 0").len(), 2, "no numbers");
        assert_eq!(complaints(&figures(), "wake").len(), 1, "not TOML");
    }
}
