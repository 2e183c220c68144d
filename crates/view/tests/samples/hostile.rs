//! A scene of malice: names, numbers and pyramids that no machine would make.

use super::scenes::noisy;
use bandscope_analysis::Analysis;
use bandscope_report::Cause;

/// Strings that attack a terminal or a browser, numbers that attack arithmetic, and absurd pyramids.
pub fn hostile() -> Analysis {
    const EVIL: &str = "x\x1b]0;owned\x07\u{9b}2J\u{202e}</text><script>alert('&\")</script>\r\n";
    let mut analysis = noisy();
    analysis.report.inputs = vec![EVIL.into()];
    analysis.report.verdict = EVIL.repeat(3);
    for (index, series) in analysis.report.series.iter_mut().enumerate() {
        series.kernel = EVIL.into();
        series.origin = EVIL.into();
        series.rate_hz = [f64::NAN, 1e300][index];
        series.ledger.gaps_ns = std::mem::take(&mut series.ledger.gaps_ns)
            .into_iter()
            .map(|(cause, ns)| (Cause::Task(format!("{cause}{EVIL}").into()), ns))
            .collect();
        series.bands[0].ns_per_unit = f64::NAN;
        series.bands[1].ns_per_unit = f64::INFINITY;
        series.duration_s = -1.0;
    }
    for gap in analysis
        .pyramids
        .iter_mut()
        .flat_map(|pyramid| &mut pyramid.gaps)
    {
        gap.cause = Cause::Task(EVIL.into());
    }
    // The first pyramid is senseless all through, so that the second is drawn beside one that cannot be.
    if let Some(pyramid) = analysis.pyramids.first_mut() {
        pyramid.time_s = (f64::NAN, 1.0);
        pyramid.density.pace_ns = (0.0, f64::INFINITY);
        pyramid.density.counts.truncate(10);
        pyramid.spectrum.step_hz = f64::NAN;
        pyramid.gaps.iter_mut().for_each(|gap| gap.ns = f64::NAN);
    }
    if let Some(recording) = &mut analysis.report.recording {
        recording.machine.cpu_model = Some(EVIL.into());
        recording.machine.kernel = Some(EVIL.into());
    }
    analysis
}
