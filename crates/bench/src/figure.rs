//! A figure: its samples, what they come to, and how a reader sees them. Pure.

/// What a sample counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Micros,
    Millis,
    /// Memory in units of 2^20 bytes.
    MiB,
    PerSecond,
    /// How many times the figure that it is compared with.
    Times,
}

/// One figure of the table.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Its name in the file of accepted figures.
    pub(crate) key: &'static str,
    /// Its name for people.
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) samples: Vec<f64>,
    /// What it should reach.
    pub(crate) target: Option<f64>,
    /// It says something about ostler that does not hang on one rare moment, so that a change of it is a change of
    /// ours. The others are there to compare with.
    pub(crate) gated: bool,
}

impl Figure {
    /// A figure that is compared with the accepted one.
    pub(crate) fn new(key: &'static str, what: &str, unit: Unit, samples: Vec<f64>) -> Self {
        assert!(!samples.is_empty(), "{key} was not measured");
        Self { key, what: what.to_owned(), unit, samples, target: None, gated: true }
    }

    pub(crate) fn target(self, target: f64) -> Self {
        Self { target: Some(target), ..self }
    }

    /// The same, only to look at.
    pub(crate) fn beside(self) -> Self {
        Self { gated: false, ..self }
    }

    pub(crate) fn median(&self) -> f64 {
        percentile(&self.samples, 50.0)
    }

    /// How many times worse than `other` it is: 1 is equal, 3 is three times as slow, as large or as few.
    pub(crate) fn worse_than(&self, other: f64) -> f64 {
        match self.unit {
            Unit::PerSecond => other / self.median(),
            _ => self.median() / other,
        }
    }

    /// One row of a Markdown table.
    fn row(&self) -> String {
        let show = |value: f64| format!("{}{}", digits(value), self.unit.suffix());
        let (low, high) = (percentile(&self.samples, 0.0), percentile(&self.samples, 100.0));
        let target = self.target.map_or(String::new(), |t| {
            let sign = if self.unit == Unit::PerSecond { "≥" } else { "≤" };
            format!("{sign} {}{}", show(t), if self.worse_than(t) > 1.0 { ", missed" } else { "" })
        });
        let median = show(self.median());
        format!(
            "| {} | {median} | {} – {} | {} | {target} |\n",
            self.what,
            digits(low),
            show(high),
            self.samples.len()
        )
    }
}

impl Unit {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Micros => " µs",
            Self::Millis => " ms",
            Self::MiB => " MiB",
            Self::PerSecond => "/s",
            Self::Times => " ×",
        }
    }
}

/// The table of all figures, in Markdown.
pub(crate) fn table(figures: &[Figure]) -> String {
    let head = "| what | median | lowest – highest | of | target |\n| --- | ---: | ---: | ---: | ---: |\n";
    figures.iter().fold(head.to_owned(), |text, figure| text + &figure.row())
}

/// The value that `percent` of the samples do not exceed (nearest rank; 0: the least).
pub(crate) fn percentile(samples: &[f64], percent: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Three digits that count; thousands are set apart.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let plain = format!("{value:.decimals$}");
    let whole = plain.split('.').next().map_or(0, str::len);
    let mut out = String::new();
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(unit: Unit, samples: &[f64]) -> Figure {
        Figure::new("key", "what", unit, samples.to_vec())
    }

    #[test]
    fn percentiles_are_samples() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let of = |percent| percentile(&hundred, percent);
        assert_eq!([of(0.0), of(50.0), of(99.0), of(99.5), of(100.0)], [1.0, 50.0, 99.0, 100.0, 100.0]);
        assert_eq!(percentile(&[3.0, 1.0, 2.0], 50.0), 2.0);
        assert_eq!(percentile(&[7.0], 99.0), 7.0);
    }

    #[test]
    fn more_lines_are_better_and_more_of_all_else_is_worse() {
        assert_eq!(figure(Unit::Millis, &[6.0]).worse_than(2.0), 3.0);
        assert_eq!(figure(Unit::PerSecond, &[2.0]).worse_than(6.0), 3.0);
    }

    #[test]
    fn rows_are_for_people() {
        let row = figure(Unit::Millis, &[0.5, 12.34, 1.0]).target(0.9).row();
        assert_eq!(row, "| what | 1.00 ms | 0.50 – 12.3 ms | 3 | ≤ 0.90 ms, missed |\n");
        let row = figure(Unit::PerSecond, &[1_234_567.0]).target(300_000.0).row();
        assert_eq!(row, "| what | 1 234 567/s | 1 234 567 – 1 234 567/s | 1 | ≥ 300 000/s |\n");
    }
}
