//! Metrics as text: the exposition format 0.0.4, without timestamps, which node_exporter's textfile collector refuses.
//!
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>. Each metric stands once, with all of its samples.

use crate::Error;
use crate::escape::visible;
use std::fmt::Write as _;
use std::io::Write;

/// What every metric of this program begins with.
const PREFIX: &str = "bandscope_";

/// Metrics, in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Page(Vec<Metric>);

/// A metric with its samples.
#[derive(Debug)]
pub(super) struct Metric {
    name: String,
    help: &'static str,
    kind: Kind,
    samples: String,
}

/// How Prometheus takes a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gauge,
    Histogram,
}

impl Page {
    /// A metric that may go up and down; the name is without [`PREFIX`], and no metric has it yet.
    pub(super) fn gauge(&mut self, name: &str, help: &'static str) -> &mut Metric {
        self.metric(name, help, Kind::Gauge)
    }

    /// A metric of which each sample is a [`Metric::distribution`].
    pub(super) fn histogram(&mut self, name: &str, help: &'static str) -> &mut Metric {
        self.metric(name, help, Kind::Histogram)
    }

    fn metric(&mut self, name: &str, help: &'static str, kind: Kind) -> &mut Metric {
        self.0.push_mut(Metric {
            name: format!("{PREFIX}{name}"),
            help,
            kind,
            samples: String::new(),
        })
    }

    /// Writes those that have samples.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), Error> {
        for metric in self.0.iter().filter(|metric| !metric.samples.is_empty()) {
            let kind = match metric.kind {
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            writeln!(out, "# HELP {} {}", metric.name, metric.help)?;
            writeln!(out, "# TYPE {} {kind}", metric.name)?;
            out.write_all(metric.samples.as_bytes())?;
        }
        Ok(())
    }
}

impl Metric {
    /// Adds a value; what is not known or not finite is left out, as a missing figure is never 0.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Into<Option<f64>>) {
        self.line("", labels, value.into());
    }

    /// Adds a histogram: numbers up to and including each bound in seconds, the number of all, and their sum in seconds.
    pub(super) fn distribution(
        &mut self,
        labels: &[(&str, &str)],
        buckets: &[(f64, u64)],
        (number, sum_s): (u64, f64),
    ) {
        for (bound, below) in buckets {
            let bound = bound.to_string();
            self.line("_bucket", &with(labels, &bound), Some(*below as f64));
        }
        self.line("_bucket", &with(labels, "+Inf"), Some(number as f64));
        self.line("_sum", labels, Some(sum_s));
        self.line("_count", labels, Some(number as f64));
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let name = &self.name;
        // Writing to a string cannot fail.
        let _ = writeln!(self.samples, "{name}{suffix}{labels} {value}");
    }
}

/// Labels, and the bound of a bucket.
fn with<'a>(labels: &[(&'a str, &'a str)], bound: &'a str) -> Vec<(&'a str, &'a str)> {
    labels.iter().copied().chain([("le", bound)]).collect()
}

/// Untrusted text as the value of a label.
fn escaped(text: &str) -> String {
    visible(text).replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(page: &Page) -> String {
        let mut out = Vec::new();
        page.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_not_known_is_not_written() {
        let mut page = Page::default();
        let gauge = page.gauge("lost_ratio", "Lost.");
        gauge.sample(&[], f64::NAN);
        gauge.sample(&[], None);
        assert_eq!(written(&page), "");
        page.gauge("work_ratio", "Work.")
            .sample(&[("cpu", "1")], 1e-9);
        assert_eq!(
            written(&page),
            "# HELP bandscope_work_ratio Work.\n# TYPE bandscope_work_ratio gauge\nbandscope_work_ratio{cpu=\"1\"} 0.000000001\n"
        );
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let mut page = Page::default();
        page.histogram("gap_seconds", "Gaps.").distribution(
            &[("cpu", "0")],
            &[(1e-6, 2), (4e-6, 5)],
            (6, 0.25),
        );
        let text = written(&page);
        let samples: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            samples,
            [
                r#"bandscope_gap_seconds_bucket{cpu="0",le="0.000001"} 2"#,
                r#"bandscope_gap_seconds_bucket{cpu="0",le="0.000004"} 5"#,
                r#"bandscope_gap_seconds_bucket{cpu="0",le="+Inf"} 6"#,
                r#"bandscope_gap_seconds_sum{cpu="0"} 0.25"#,
                r#"bandscope_gap_seconds_count{cpu="0"} 6"#,
            ]
        );
    }

    #[test]
    fn a_label_cannot_be_left() {
        assert_eq!(escaped("a\"} 1\nb\\n\u{202e}"), r#"a\"} 1\\nb\\n\\u{202e}"#);
    }

    proptest! {
        #[test]
        fn whatever_is_in_a_label_stays_on_its_line(text in any::<String>()) {
            let escaped = escaped(&text);
            let bare = escaped.replace(r"\\", "").replace("\\\"", "");
            prop_assert!(!bare.contains(['"', '\\']));
            prop_assert!(!escaped.chars().any(char::is_control));
        }
    }
}
