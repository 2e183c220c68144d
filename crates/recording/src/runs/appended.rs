//! Runs of a session that goes on, or was killed: the first line is the document without runs, then each run is a line of its own.
//!
//! A line is written at once, so that whoever is killed loses the run under way and no other. When the session ends, the document
//! as a whole takes the place of the lines.

use super::{DOCUMENT, Metric, Run, Runs};
use crate::Error;
use crate::document;
use crate::text::quoted;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A run, and the metric as it is known by then.
#[derive(Serialize, Deserialize)]
struct Line<M, R> {
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
    let line = Line { metric, run };
    let mut json = serde_json::to_string(&line).expect("numbers and text, keyed by text");
    json.push('\n');
    json
}

/// The session that these lines tell of; `None` if the first is no document of its own. The last line may be cut off.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Option<Result<Runs, Error>> {
    document::bounded(path, bytes, &DOCUMENT).ok()?;
    let (head, mut rest) = split_line(bytes)?;
    let mut runs: Runs = document::parse(path, head, &DOCUMENT).ok()?;
    let mut number = 1;
    while let Some((line, after)) = split_line(rest) {
        number += 1;
        rest = after;
        match serde_json::from_slice::<Line<Metric, Run>>(line) {
            Ok(Line { metric, run }) => {
                runs.metric = metric;
                runs.duration_s = runs.duration_s.max(run.at_s + run.wall_s);
                runs.runs.push(run);
            }
            Err(error) => {
                return Some(Err(Error::Row {
                    path: path.into(),
                    row: number,
                    found: quoted(error.to_string().as_bytes()),
                    expected: "a run on a line of its own".into(),
                }));
            }
        }
    }
    Some(Ok(runs))
}

/// The first line, and what comes after its end; `None` if it has no end.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::super::SCHEMA;
    use super::*;

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
