//! The report as JSON: the contract `bandscope.report/1`, one document, indented, a newline at its end.
//!
//! Numbers that are not finite become `null`, as JSON has no word for them. Characters that a terminal
//! would obey are written as `\uXXXX` even where JSON would allow them raw (DEL and C1).

use crate::{Error, Format, Options};
use bandscope_analysis::Analysis;
use serde::Serialize;
use std::io::Write;

/// The format `json`.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn render(
        &self,
        analysis: &Analysis,
        _options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        document(&analysis.report, out)
    }
}

/// Any of the program's results as JSON, in the same way.
///
/// # Errors
/// If `out` cannot be written.
pub fn document(result: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    let document = serde_json::to_string_pretty(result)?;
    writeln!(out, "{}", without_controls(&document))?;
    Ok(())
}

/// The same on one line, for what no person reads.
///
/// # Errors
/// If `out` cannot be written.
pub fn line(result: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    let document = serde_json::to_string(result)?;
    writeln!(out, "{}", without_controls(&document))?;
    Ok(())
}

/// Writes DEL, C1 controls and bidirectional overrides as `\uXXXX`.
///
/// serde_json escapes the C0 controls; outside strings a JSON document holds ASCII only, so every
/// character replaced here stands inside a string, where the escape means the same.
pub(crate) fn without_controls(document: &str) -> String {
    let raw = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !document.contains(raw) {
        return document.to_owned();
    }
    document
        .chars()
        .map(|c| {
            if raw(c) {
                format!("\\u{:04x}", u32::from(c))
            } else {
                c.to_string()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use serde_json::Value;

    fn rendered(analysis: &Analysis) -> String {
        let mut out = Vec::new();
        Json.render(analysis, &Options::default(), &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Sum of all whole numbers in `value`.
    fn sum(value: &Value) -> i64 {
        match value {
            Value::Object(fields) => fields.values().map(sum).sum(),
            Value::String(_) => 0,
            other => other.as_i64().unwrap(),
        }
    }

    #[test]
    fn the_contract() {
        insta::assert_snapshot!(rendered(&samples::imported()));
    }

    #[test]
    fn the_ledger_adds_up_for_a_reader_of_the_json() {
        for (name, analysis) in samples::all() {
            let text = rendered(&analysis);
            assert!(text.ends_with("}\n"), "{name}");
            let report: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(report["schema"], "bandscope.report/1", "{name}");
            for series in report["series"].as_array().unwrap() {
                let ledger = &series["ledger"];
                let wall = ledger["wall_ns"].as_i64().unwrap();
                assert_eq!(sum(ledger) - wall, wall, "{name}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_null() {
        let mut analysis = samples::quiet();
        analysis.report.series[0].bands[0].ns_per_unit = f64::NAN;
        analysis.report.series[0].bands[0].half_width = f64::INFINITY;
        let report: Value = serde_json::from_str(&rendered(&analysis)).unwrap();
        let band = &report["series"][0]["bands"][0];
        assert!(band["ns_per_unit"].is_null() && band["half_width"].is_null());
    }

    #[test]
    fn controls_survive_as_escapes() {
        let mut analysis = samples::empty();
        let name = "a\u{9b}31m\x1b[0m\u{7f}\u{202e}é";
        analysis.report.inputs = vec![name.into()];
        let text = rendered(&analysis);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["inputs"][0], name);
    }
}
