//! What a file of runs must hold so that nothing later divides by nothing or looks for what is not there.

use super::Runs;
use crate::Error;
use crate::text::quoted;
use std::path::Path;

/// A session longer than this is a mistake; what is computed of each pair of runs stays small.
const MOST_RUNS: usize = 100_000;

/// The runs, if they can be.
pub(super) fn check(runs: Runs, path: &Path) -> Result<Runs, Error> {
    match wrong(&runs) {
        None => Ok(runs),
        Some((found, expected)) => Err(Error::File {
            path: path.into(),
            found,
            expected: expected.into(),
        }),
    }
}

fn wrong(runs: &Runs) -> Option<(String, &'static str)> {
    if runs.runs.len() > MOST_RUNS {
        return Some((format!("{} runs", runs.runs.len()), "at most 100000"));
    }
    if !(runs.metric.resolution.is_finite() && runs.metric.resolution >= 0.0) {
        let found = format!("metric.resolution {}", runs.metric.resolution);
        return Some((found, "0 or more"));
    }
    for factor in &runs.factors {
        if factor.missing.is_none() && factor.levels.len() < 2 {
            let name = quoted(factor.name.as_bytes());
            let found = format!("factor {name} with {} levels", factor.levels.len());
            return Some((found, "at least 2, or why it is missing"));
        }
    }
    runs.runs.iter().enumerate().find_map(|(index, run)| {
        let of = |what: String| format!("run {}: {what}", index + 1);
        let times = [run.at_s, run.wall_s, run.user_s, run.system_s];
        if let Some(time) = times
            .iter()
            .find(|time| !(time.is_finite() && **time >= 0.0))
        {
            return Some((of(format!("a time of {time}")), "0 or more seconds"));
        }
        if let Some(value) = run.value.filter(|value| !value.is_finite()) {
            return Some((of(format!("value {value}")), "a number"));
        }
        let known = |name: &String| runs.factors.iter().any(|factor| factor.name == *name);
        if let Some(name) = run
            .levels
            .keys()
            .chain(&run.factor)
            .find(|name| !known(name))
        {
            let found = of(format!("factor {}", quoted(name.as_bytes())));
            return Some((found, "a factor of the list `factors`"));
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::runs::{Factor, Metric, Run, Runs, SCHEMA};
    use std::path::Path;

    fn runs() -> Runs {
        Runs {
            schema: SCHEMA.into(),
            metric: Metric::measured("wall").unwrap(),
            factors: vec![Factor {
                name: "layout".into(),
                levels: vec!["inherited".into(), "fixed".into()],
                ..Factor::default()
            }],
            runs: vec![Run {
                value: Some(1.5),
                wall_s: 1.5,
                factor: Some("layout".into()),
                levels: [("layout".into(), "fixed".into())].into(),
                ..Run::default()
            }],
            ..Runs::default()
        }
    }

    fn parse(runs: &Runs) -> Result<Runs, Error> {
        Runs::parse(Path::new("r.json"), runs.to_json().as_bytes())
    }

    #[test]
    fn what_was_written_reads_back() {
        assert_eq!(parse(&runs()).unwrap(), runs());
        assert_eq!(runs().runs[0].level("layout"), "fixed");
        assert_eq!(runs().runs[0].level("cpu"), "inherited");
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let spoilt = |change: fn(&mut Runs)| {
            let mut one = runs();
            change(&mut one);
            parse(&one).unwrap_err().to_string()
        };
        for (message, wanted) in [
            (
                spoilt(|one| one.schema = "other\u{1b}".into()),
                "other\\u{1b}",
            ),
            (
                spoilt(|one| one.runs[0].wall_s = -1.0),
                "run 1: a time of -1",
            ),
            (
                spoilt(|one| one.metric.resolution = -1.0),
                "metric.resolution -1",
            ),
            (
                spoilt(|one| one.factors[0].levels.truncate(1)),
                "with 1 levels",
            ),
            (
                spoilt(|one| one.factors[0].name = "x\n".into()),
                "factor \"layout\"",
            ),
        ] {
            assert!(message.contains(wanted), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
