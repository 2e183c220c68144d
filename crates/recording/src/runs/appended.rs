//! Runs of a session that goes on, or was killed: the first line is the document without runs, each further one is a run.

use super::{Metric, Run, Runs};
use crate::appended::Grows;
use crate::document;
use serde::{Deserialize, Serialize};

/// A run, and the metric as it is known by then.
#[derive(Serialize, Deserialize)]
pub(crate) struct Line<M, R> {
    metric: M,
    run: R,
}

/// The first line, for a session that has no run yet.
pub fn head(runs: &Runs) -> String {
    // So it is, unless the whole document takes its place.
    let head = Runs {
        interrupted: true,
        runs: Vec::new(),
        ..runs.clone()
    };
    head.to_json()
}

/// The line of a run.
pub fn line(metric: &Metric, run: &Run) -> String {
    document::line(&Line { metric, run })
}

impl Grows for Runs {
    type Line = Line<Metric, Run>;
    const LINE: &'static str = "a run";

    fn add(&mut self, Line { metric, run }: Self::Line) {
        self.metric = metric;
        self.duration_s = self.duration_s.max(run.at_s + run.wall_s);
        self.runs.push(run);
    }
}

#[cfg(test)]
mod tests {
    use super::super::SCHEMA;
    use super::*;
    use std::path::Path;

    fn lines() -> (Runs, String) {
        let mut runs = Runs {
            schema: SCHEMA.into(),
            command: vec!["a\nb".into()],
            ..Runs::default()
        };
        let mut text = head(&runs);
        for k in 0..3u8 {
            let run = Run {
                at_s: f64::from(k),
                wall_s: 0.5,
                value: Some(1.0),
                ..Run::default()
            };
            runs.metric.resolution = 0.1;
            text += &line(&runs.metric, &run);
            runs.runs.push(run);
        }
        (runs, text)
    }

    #[test]
    fn a_killed_session_has_the_runs_that_ended() {
        let (mut runs, text) = lines();
        (runs.interrupted, runs.duration_s) = (true, 2.5);
        let parse = |text: &str| Runs::parse(Path::new("runs.json"), text.as_bytes());
        assert_eq!(parse(&text).unwrap(), runs);
        // Wherever the last line is cut off.
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        runs.runs.pop();
        runs.duration_s = 1.5;
        for end in last..text.len() {
            assert_eq!(parse(&text[..end]).unwrap(), runs, "{end}");
        }
        // Before the first run ended.
        let head = text.find('\n').unwrap() + 1;
        let empty = parse(&text[..head]).unwrap();
        assert!(empty.interrupted && empty.runs.is_empty());
    }

    #[test]
    fn a_line_that_is_no_run_is_told() {
        let text = lines().1.replacen("\"run\"", "\"ruin\"", 1);
        let error = Runs::parse(Path::new("runs.json"), text.as_bytes()).unwrap_err();
        assert!(
            error.to_string().starts_with("runs.json:2: found"),
            "{error}"
        );
    }
}
