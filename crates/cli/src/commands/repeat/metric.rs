//! What runs are compared by: something that bandscope measures, or a number in what the command says.

use anyhow::{Result, bail};
use bandscope_experiments::repeat::Output;
use bandscope_recording::runs::{Metric, Run, last_digit};
use regex_lite::Regex;

/// How to get the value of a run.
#[derive(Debug)]
pub enum Finder {
    /// bandscope measured it, by the clock or what the kernel books.
    Measured,
    /// bandscope counted it, with a hardware counter.
    Cycles,
    /// It stands in the output.
    Printed(Regex),
}

/// What `--metric` means.
///
/// # Errors
/// If it is neither a name nor a regular expression.
pub fn resolve(text: &str, higher_is_better: bool) -> Result<(Metric, Finder)> {
    if let Some(mut metric) = Metric::measured(text) {
        metric.higher_is_better = higher_is_better;
        let finder = match text {
            "cycles" => Finder::Cycles,
            _ => Finder::Measured,
        };
        return Ok((metric, finder));
    }
    let Ok(regex) = Regex::new(&format!("(?m){text}")) else {
        bail!(
            "--metric: found {text:?}, expected wall, user, system, cycles or a regular expression"
        );
    };
    let metric = Metric {
        name: text.to_owned(),
        higher_is_better,
        ..Metric::default()
    };
    Ok((metric, Finder::Printed(regex)))
}

impl Finder {
    /// The value of a run, and the worth of its last digit where it was printed; `None` if there is none.
    pub fn find(&self, metric: &Metric, run: &Run, output: &Output) -> Option<(f64, Option<f64>)> {
        match self {
            Finder::Measured | Finder::Cycles => Some((metric.of(run)?, None)),
            Finder::Printed(regex) => [&output.out, &output.error]
                .into_iter()
                // What is kept of the end first: the last match counts.
                .flat_map(|stream| stream.parts().into_iter().rev())
                .find_map(|text| number(regex, &text)),
        }
    }
}

/// The last match that is a number: programs print what they did before what it came to.
fn number(regex: &Regex, text: &str) -> Option<(f64, Option<f64>)> {
    let matches = regex.captures_iter(text).filter_map(|groups| {
        let found = groups.get(1).or_else(|| groups.get(0))?.as_str().trim();
        let value: f64 = found.parse().ok().filter(|value: &f64| value.is_finite())?;
        Some((value, Some(last_digit(found))))
    });
    matches.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_where_it_stands() {
        let find = |pattern: &str, text: &str| {
            let (_, Finder::Printed(regex)) = resolve(pattern, false).unwrap() else {
                panic!("{pattern}");
            };
            number(&regex, text)
        };
        assert_eq!(
            find(r"speed: ([0-9.]+) MB/s", "x\nspeed: 3.50 MB/s\n"),
            Some((3.5, Some(0.01)))
        );
        assert_eq!(find(r"^[0-9]+$", "a 7\n17\n"), Some((17.0, Some(1.0))));
        // A pass that does not count stands before.
        assert_eq!(find(r"t=(\d+)", "t=5 t=9"), Some((9.0, Some(1.0))));
        assert_eq!(find(r"t=(\w+)", "t=fast"), None);
        assert_eq!(find(r"t=(\w+)", "t=inf"), None);
        assert!(resolve("(", false).is_err());
    }
}
