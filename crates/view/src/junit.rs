//! Checks as JUnit XML, which every CI shows: one test case a condition.

use crate::Error;
use crate::escape::xml;
use bandscope_studies::conditions::Checked;
use std::io::Write;

/// Writes the checks of one suite; without any, the suite is empty.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn render(suite: &str, checks: &[Checked], out: &mut dyn Write) -> Result<(), Error> {
    let failures = checks.iter().filter(|check| check.met).count();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites>")?;
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\">",
        xml(suite),
        checks.len()
    )?;
    for check in checks {
        let case = format!(
            "    <testcase classname=\"{}\" name=\"{}\"",
            xml(suite),
            xml(&check.condition)
        );
        match check.met {
            true => writeln!(
                out,
                "{case}>\n      <failure message=\"{}\"/>\n    </testcase>",
                xml(&check.found)
            )?,
            false => writeln!(
                out,
                "{case}>\n      <system-out>{}</system-out>\n    </testcase>",
                xml(&check.found)
            )?,
        }
    }
    writeln!(out, "  </testsuite>\n</testsuites>")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_cases_whatever_they_hold() {
        let check = |name: &str, met| Checked {
            condition: name.into(),
            met,
            found: "a<b & \"c\"\x1b".into(),
            ..Checked::default()
        };
        let mut out = Vec::new();
        render(
            "compare",
            &[check("cycles>+5%", true), check("x", false)],
            &mut out,
        )
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("tests=\"2\" failures=\"1\""), "{text}");
        assert!(text.contains("name=\"cycles&gt;+5%\">\n      <failure message=\"a&lt;b &amp; &quot;c&quot;\\x1b\"/>"), "{text}");
        assert!(text.contains("<system-out>a&lt;b"), "{text}");
    }
}
