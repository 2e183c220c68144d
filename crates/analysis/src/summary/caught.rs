//! The verdict on what a flight recorder caught: how long it watched, how often a condition was met, and the longest of it.

use bandscope_recording::Manifest;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::Watched;
use bandscope_report::format::duration;
use bandscope_report::{Cause, Moment};

/// The sentences.
pub fn sentence(moments: &[Moment], manifest: &Manifest) -> String {
    let cpus = cpu_list::named(&manifest.settings.cpus);
    let verb = if manifest.settings.cpus.len() == 1 {
        "was"
    } else {
        "were"
    };
    let watched = &manifest.watched;
    let sum = |of: fn(&Watched) -> u64| watched.iter().map(of).sum::<u64>();
    let ticks = watched.iter().map(|one| one.wall_ticks).max().unwrap_or(0);
    let seconds = ticks as f64 / manifest.clock.ticks_per_ns / 1e9;
    let mut said = match (watched.is_empty(), sum(|one| one.met)) {
        // It was killed, or goes on.
        (true, _) => format!(
            "{cpus}: {} caught so far.",
            moments_of(moments.len() as u64)
        ),
        (false, 0) => {
            let seconds = length(seconds);
            let nothing =
                format!("{cpus} {verb} watched for {seconds}, and nothing met a condition");
            let Some(longest) = longest_gap(manifest) else {
                return format!("{nothing}: there was no gap.");
            };
            let gaps = number(sum(|one| one.gaps), "gap", "gaps");
            return format!("{nothing}. The longest of {gaps} took {longest}.");
        }
        (false, met) => format!(
            "{cpus} {verb} watched for {}: {} met a condition.",
            length(seconds),
            number(met, "gap", "gaps")
        ),
    };
    if let Some(longest) = moments.first() {
        let by = match longest.causes.first().map(|part| &part.cause) {
            Some(cause @ (Cause::Unnamed | Cause::Preempted)) => {
                format!(", and who it was is not known ({cause})")
            }
            Some(cause) => format!(": {cause}"),
            None => String::new(),
        };
        said += &format!(" The longest took {}{by}.", duration(longest.ns));
    }
    if !manifest.stopped_by.is_empty() {
        said += &format!(" The run ended because of \"{}\".", manifest.stopped_by);
    }
    said
}

/// The longest gap that a flight recorder saw, and what took most of it: `1.2 ms: task:make`. The name is untrusted.
pub fn longest_gap(manifest: &Manifest) -> Option<String> {
    let longest = (manifest.watched.iter()).max_by_key(|one| one.longest_ticks)?;
    let ns = longest.longest_ticks as f64 / manifest.clock.ticks_per_ns;
    (longest.gaps > 0).then(|| match &*longest.longest_cause {
        "" => duration(ns),
        cause => format!("{}: {cause}", duration(ns)),
    })
}

fn moments_of(number_of: u64) -> String {
    number(number_of, "moment was", "moments were")
}

fn number(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A length of time, as long as a night.
fn length(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=119 => duration(seconds * 1e9),
        120..=7199 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::Part;

    fn manifest() -> Manifest {
        let mut manifest = Manifest::default();
        manifest.settings.cpus = vec![1];
        manifest.clock.ticks_per_ns = 1.0;
        manifest.watched = vec![Watched {
            cpu: 1,
            wall_ticks: 7_260_000_000_000,
            gaps: 5_000,
            longest_ticks: 90_000,
            ..Watched::default()
        }];
        manifest
    }

    #[test]
    fn a_night_is_a_sentence() {
        let mut manifest = manifest();
        assert_eq!(
            sentence(&[], &manifest),
            "CPU 1 was watched for 2 h 1 min, and nothing met a condition. The longest of 5000 gaps took 90.0 µs."
        );
        let other = Watched {
            longest_ticks: 80_000,
            longest_cause: "host".into(),
            ..manifest.watched[0].clone()
        };
        manifest.watched.push(other);
        let said = |manifest: &Manifest| sentence(&[], manifest);
        assert!(said(&manifest).ends_with(" The longest of 10000 gaps took 90.0 µs."));
        manifest.watched[0].longest_cause = "task:burner".into();
        assert!(said(&manifest).ends_with(" gaps took 90.0 µs: task:burner."));
        manifest.watched.truncate(1);
        (manifest.watched[0].gaps, manifest.watched[0].longest_ticks) = (0, 0);
        assert!(said(&manifest).ends_with(", and nothing met a condition: there was no gap."));
        manifest.watched[0].met = 1;
        let moment = Moment {
            ns: 1.9e6,
            causes: vec![Part {
                cause: Cause::Task("kworker/3:1".into()),
                ns: 1.9e6,
            }],
            ..Moment::default()
        };
        assert_eq!(
            sentence(std::slice::from_ref(&moment), &manifest),
            "CPU 1 was watched for 2 h 1 min: 1 gap met a condition. The longest took 1.9 ms: task:kworker/3:1."
        );
        manifest.watched.clear();
        assert!(sentence(&[moment], &manifest).starts_with("CPU 1: 1 moment was caught so far."));
    }
}
