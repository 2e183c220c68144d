//! Published scenes by name: a scenario, and the run that shows it. A preset's name stands for its scenario
//! wherever a scenario is written.
//!
//! The scenes are those of docs/method.md, sections 5 and 8.

/// A scenario and a run.
#[derive(Debug)]
pub struct Preset {
    /// As written by the user.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// What it stands for, as one would write it out.
    pub scenario: &'static str,
    /// Rate in hertz.
    pub rate_hz: f64,
    /// Work kernel that shows it.
    pub kernel: &'static str,
    /// Length of the run in seconds.
    pub duration_s: f64,
}

/// A clock of 2 GHz less a billionth: a quantum of 100 us has 199999.9999 ticks, which truncation makes
/// 199999. Edges on a grid of milliseconds then drift by 5 ppm of a quantum a quantum, a turn in 20.0 s.
const X: &str = "clock:ghz=1.999999999+truncation+flips";

/// Presets, in the order in which they are listed.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "x-10khz",
        description: "the published X: two paces 5.35 apart on a grid of 1 ms, seen by truncated quanta of 100 µs; the X repeats every 20 s",
        scenario: X,
        rate_hz: 10_000.0,
        kernel: "ftq-o2",
        duration_s: 40.0,
    },
    Preset {
        name: "x-7777hz",
        description: "the same machine at 7777 Hz, where no X shows",
        scenario: X,
        rate_hz: 7777.0,
        kernel: "ftq-o2",
        duration_s: 40.0,
    },
    Preset {
        name: "isolated",
        description: "the isolated core, which stays in either of two paces for seconds",
        scenario: "states:dwell=1.5",
        rate_hz: 10_000.0,
        kernel: "ftq-o2",
        duration_s: 60.0,
    },
    Preset {
        name: "alternating-710",
        description: "counts that repeat: 710, 711, 710, 720",
        // 710.5 and 719.86 units of 140.74 ns in 100 us.
        scenario: "unit:ratio=1.253846+alternate:period=4,ratio=0.987",
        rate_hz: 10_000.0,
        kernel: "mulss80",
        duration_s: 10.0,
    },
    Preset {
        name: "page-10khz",
        description: "each page of 256 samples costs: 39 Hz at 10 kHz",
        scenario: "pages",
        rate_hz: 10_000.0,
        kernel: "mulss80",
        duration_s: 20.0,
    },
    Preset {
        name: "page-7khz",
        description: "the same at 7 kHz: 27 Hz",
        scenario: "pages",
        rate_hz: 7000.0,
        kernel: "mulss80",
        duration_s: 20.0,
    },
    Preset {
        name: "drift-750ppm",
        description: "quanta of 2.4 ticks per ns on a clock of 2.3982",
        // 2.4 / 2.3982 - 1.
        scenario: "clock:ghz=2.3982+drift:ppm=750.563",
        rate_hz: 10_000.0,
        kernel: "mulss80",
        duration_s: 10.0,
    },
    Preset {
        name: "warmup-180ms",
        description: "a slow pace and losses of 100 Hz in the first 180 ms",
        scenario: "warmup",
        rate_hz: 10_000.0,
        kernel: "mulss80",
        duration_s: 2.0,
    },
];

/// The preset that a scenario's text names first, if it names one.
pub fn preset_of(text: &str) -> Option<&'static Preset> {
    text.split('+').find_map(|part| find(name_of(part)))
}

/// The text with presets replaced by their scenarios. Parameters of a preset go to the last part of its
/// scenario, and so do its `seed`.
pub(crate) fn expand(text: &str) -> String {
    let parts = text.split('+').map(|part| match find(name_of(part)) {
        None => part.to_owned(),
        Some(preset) => match part.split_once(':') {
            None => preset.scenario.to_owned(),
            Some((_, parameters)) => with_parameters(preset.scenario, parameters),
        },
    });
    parts.collect::<Vec<_>>().join("+")
}

/// A scenario's text whose last part has these parameters, too.
pub(crate) fn with_parameters(scenario: &str, parameters: &str) -> String {
    let separator = match scenario.rsplit('+').next() {
        Some(last) if last.contains(':') => ',',
        _ => ':',
    };
    format!("{scenario}{separator}{parameters}")
}

fn name_of(part: &str) -> &str {
    part.split(':').next().unwrap_or(part)
}

fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn presets_stand_for_scenarios() {
        for preset in PRESETS {
            Scenario::parse(preset.name).unwrap();
            assert_eq!(preset_of(preset.name).unwrap().name, preset.name);
            assert!(crate::catalogue::find(preset.name).is_none());
        }
        assert_eq!(
            expand("noise+isolated:memory=1,seed=3"),
            "noise+states:dwell=1.5,memory=1,seed=3"
        );
        assert_eq!(expand("warmup-180ms:seed=3"), "warmup:seed=3");
        assert!(preset_of("tick+flips").is_none());
    }
}
