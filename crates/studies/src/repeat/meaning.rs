//! Sentences: what the modes are, what decides, and what limits that.

use super::Repeat;
use super::factors::{self, Confirmation, Level, Varied};
use super::hidden::Hidden;
use super::modes::Mode;
use bandscope_recording::runs::{INHERITED, Metric, Runs};
use bandscope_report::format;

/// Fewer runs than this show no mode of any share that matters.
const FEW: usize = 10;
/// A drift below this is not worth a sentence.
const DRIFT: f64 = 0.005;

/// A value of the metric with its unit.
pub fn value(metric: &Metric, value: f64) -> String {
    match &*metric.unit {
        "s" => format::duration(value * 1e9),
        "" => digits(value),
        unit => format!("{} {unit}", digits(value)),
    }
}

/// Four significant digits, and whole numbers whole.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    match magnitude {
        m if (-4.0..9.0).contains(&m) => {
            let decimals = (3.0 - m).max(0.0) as usize;
            let text = format!("{value:.decimals$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        _ => format!("{value:.3e}"),
    }
}

/// The modes, then the answer.
pub(super) fn verdict(repeat: &Repeat) -> String {
    let sentences = [Some(modes(repeat)), hidden(repeat), repeat.answer.clone()];
    sentences
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// That the metric hides two kinds of runs, and what shows them.
fn hidden(repeat: &Repeat) -> Option<String> {
    let advised = (repeat.hidden.iter()).find(|one| one.metric().own().is_some());
    let advice = advised.map_or_else(String::new, |one| format!(": try --metric {}", one.name));
    let each = |one: &Hidden| {
        let of = |mode: &Mode| format!("{} in {}", value(&one.metric(), mode.value), mode.runs);
        let modes: Vec<String> = one.modes.iter().map(of).collect();
        format!("{} is {}", one.name, modes.join(", "))
    };
    let all: Vec<String> = repeat.hidden.iter().map(each).collect();
    (!all.is_empty()).then(|| {
        format!(
            "But the {} runs are of several kinds: {}. Noise hides what that costs{advice}.",
            repeat.values.len(),
            all.join("; "),
        )
    })
}

fn modes(repeat: &Repeat) -> String {
    let number = repeat.values.len();
    let of = |mode: &Mode| value(&repeat.metric, mode.value);
    match &repeat.modes.modes[..] {
        [] => "No run gave a value.".to_owned(),
        [only] if number < FEW => format!(
            "{} of {number} run{}: too few to say how many modes there are.",
            of(only),
            if number == 1 { "" } else { "s" }
        ),
        [only] => match &repeat.modes.possible[..] {
            [] => format!("One mode, {}, in {number} runs.", of(only)),
            modes => format!(
                "One mode, {}, or perhaps {}: {}; {number} runs do not decide it (p = {}).",
                of(only),
                modes.len(),
                list(repeat, modes),
                probability(repeat.modes.p_value)
            ),
        },
        modes => format!(
            "{} modes in {number} runs: {}.{}",
            modes.len(),
            list(repeat, modes),
            slow(repeat)
        ),
    }
}

/// Which of more than two modes are called slow; empty of two, and where others tell slow runs.
fn slow(repeat: &Repeat) -> String {
    let modes = &repeat.modes.modes;
    if modes.len() < 3 || !repeat.modes_at_levels.is_empty() {
        return String::new();
    }
    let slow = &modes[repeat.modes.slow(repeat.metric.higher_is_better)];
    let values = slow.iter().map(|mode| value(&repeat.metric, mode.value));
    let values: Vec<String> = values.collect();
    format!(" Slow means {}.", values.join(" or "))
}

fn list(repeat: &Repeat, modes: &[Mode]) -> String {
    let each = modes.iter().map(|mode| {
        let value = value(&repeat.metric, mode.value);
        format!("{value} ({} of {})", mode.runs, repeat.values.len())
    });
    let each: Vec<String> = each.collect();
    each.join(", ")
}

/// What decides; `None` if nothing was varied.
pub(super) fn answer(repeat: &Repeat) -> Option<String> {
    let varied: Vec<&Varied> = repeat
        .factors
        .iter()
        .filter(|factor| !factor.levels.is_empty())
        .collect();
    let tried = repeat.factors.iter().any(|factor| factor.missing.is_none());
    if let Some(one) = factors::named(&repeat.factors) {
        let others: Vec<&str> = (repeat.factors.iter())
            .filter(|other| other.decides && other.name != one.name)
            .map(|other| &*other.name)
            .collect();
        let mut text = decides(one, one.confirmation.as_ref()?);
        if !others.is_empty() {
            text += &format!(" So does: {}.", others.join(", "));
        }
        return Some(text);
    }
    if !tried {
        return None;
    }
    if varied.is_empty() {
        return Some(match repeat.runs.screening + repeat.runs.confirmation {
            0 => "The session ended before a factor was tested.".to_owned(),
            _ => "No level of a factor showed another mode.".to_owned(),
        });
    }
    let names: Vec<&str> = varied.iter().map(|factor| &*factor.name).collect();
    Some(match repeat.hidden.is_empty() {
        true => format!("None of these decides it: {}.", names.join(", ")),
        // Where noise hides the modes it hides what decides them.
        false => format!(
            "None of these was shown to decide {}: {}.",
            repeat.metric.name,
            names.join(", ")
        ),
    })
}

/// As in "With layout at fixed the slow mode is gone (0 of 20 against 7 of 20 at inherited, p = 0.0042)."
fn decides(one: &Varied, confirmation: &Confirmation) -> String {
    let [more, less] = &confirmation.levels;
    // Told from the level that was set, not from the one that is as ever.
    let (set, other) = match more.name == INHERITED {
        false if less.name == INHERITED => (more, less),
        _ => (less, more),
    };
    let does = match (set.slow, set.slow == set.runs) {
        (0, _) => "the slow mode is gone".to_owned(),
        (_, true) => "every run is slow".to_owned(),
        (_, false) => format!(
            "{} of the runs are slow",
            format::percent(factors::share(set))
        ),
    };
    let of = |level: &Level| format!("{} of {}", level.slow, level.runs);
    let mut with = String::new();
    for (name, level) in &one.with {
        with += &format!(" ({name} {level})");
    }
    format!(
        "{} decides: with {} {}{with} {does} ({} against {} with {}, p = {}).",
        capital(&one.name),
        one.name,
        set.name,
        of(set),
        of(other),
        other.name,
        probability(confirmation.p_corrected)
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// With as many digits as are read.
pub fn probability(p_value: f64) -> String {
    match p_value {
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.4}").trim_end_matches('0').to_owned(),
        p => format!("{p:.0e}"),
    }
}

/// What a reader must know before believing the rest.
pub(super) fn warnings(repeat: &Repeat, runs: &Runs) -> Vec<String> {
    let mut warnings = Vec::new();
    if repeat.interrupted {
        warnings.push(format!(
            "The session ended early, so the result rests on {} runs, fewer than asked for.",
            repeat.runs.analysed()
        ));
    }
    if repeat.session.together {
        warnings.push(format!(
            "Slow runs came together: {} stretches of equal runs are fewer than chance gives (p = {}). The state of the machine \
             decides then, not the start of a run.",
            repeat.session.stretches.unwrap_or_default(),
            probability(repeat.session.stretches_p_value.unwrap_or(1.0))
        ));
    }
    if let Some(change) = repeat
        .session
        .change
        .filter(|change| repeat.session.drifts && change.abs() >= DRIFT)
    {
        warnings.push(format!(
            "Values drift: the last third of the runs lies {} {} the first (p = {}).",
            format::percent(change.abs()),
            if change > 0.0 { "above" } else { "below" },
            probability(repeat.session.trend_p_value)
        ));
    }
    if repeat.runs.failed > 0 {
        warnings.push(format!(
            "{} runs failed and are left out.",
            repeat.runs.failed
        ));
    }
    for factor in &repeat.factors {
        if let Some(why) = &factor.missing {
            warnings.push(format!("Not varied: {}: {why}.", factor.name));
        }
    }
    warnings.extend(
        runs.missing
            .iter()
            .map(|why| format!("Not available: {why}.")),
    );
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_unit() {
        let wall = Metric::measured("wall").unwrap();
        assert_eq!(value(&wall, 0.0132), "13.2 ms");
        let own = Metric::default();
        let texts = [320.0, 13_115_873.0, 0.25, 0.0, 1e12].map(|number| value(&own, number));
        assert_eq!(texts, ["320", "13115873", "0.25", "0", "1.000e12"]);
    }

    #[test]
    fn probabilities_have_the_digits_that_are_read() {
        assert_eq!(
            [0.5, 0.004158, 3.2e-7].map(probability),
            ["0.50", "0.0042", "3e-7"]
        );
    }
}
