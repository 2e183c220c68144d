//! The verdict on what a flight recorder caught: how long it watched, how often a condition was met, and the longest gap or the worst stretch.

use bandscope_recording::Manifest;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{Trigger, Watched};
use bandscope_report::Moment;
use bandscope_report::format::{count, duration, duration_round, percent};

/// The sentences.
pub fn sentence(moments: &[Moment], manifest: &Manifest) -> String {
    let cpus = cpu_list::named(&manifest.settings.cpus);
    let verb = if manifest.settings.cpus.len() == 1 {
        "was"
    } else {
        "were"
    };
    let watched = &manifest.watched;
    let ticks = watched.iter().map(|one| one.wall_ticks).max().unwrap_or(0);
    let seconds = length(ticks as f64 / manifest.clock.ticks_per_ns / 1e9);
    let mut said = match (watched.is_empty(), sum(manifest, |one| one.met)) {
        // It was killed, or goes on.
        (true, _) => {
            let moments = number(moments.len() as u64, ("moment was", "moments were"));
            format!("{cpus}: {moments} caught so far.")
        }
        (false, 0) => {
            let nothing =
                format!("{cpus} {verb} watched for {seconds}, and nothing met a condition");
            let Some(longest) = longest_gap(manifest) else {
                return format!("{nothing}: there was no gap.");
            };
            let gaps = number(sum(manifest, |one| one.gaps), ("gap", "gaps"));
            let unseen = unseen(manifest);
            return format!("{nothing}. The longest of {gaps} took {longest}.{unseen}");
        }
        (false, _) => format!("{cpus} {verb} watched for {seconds}: {}.", met(manifest)),
    };
    if let Some(worst) = moments.first() {
        said += &format!(" {}", worst_moment(worst, manifest));
    }
    if !manifest.stopped_by.is_empty() {
        said += &format!(" The run ended because of \"{}\".", manifest.stopped_by);
    }
    said
}

/// Causes that were asked for and had a part in no gap that was long enough, a sentence each, after a blank. They are untrusted.
pub fn unseen(manifest: &Manifest) -> String {
    let is_unseen = |one: &&Trigger| {
        let mut of_cpus = manifest.watched.iter();
        of_cpus.all(|cpu| one.cpu.is_some_and(|of| of != cpu.cpu) || cpu.unseen.contains(&one.text))
    };
    let unseen = conditions(manifest).filter(|one| !one.cause.is_empty());
    let unseen = unseen.filter(is_unseen).map(|one| &one.cause);
    let sentence = |cause| format!(" No gap that was long enough had {cause} in it.");
    unseen.map(sentence).collect()
}

/// How often a condition was met: `212 gaps met a condition`.
pub fn met(manifest: &Manifest) -> String {
    let met = sum(manifest, |one| one.met);
    format!(
        "{} met a condition",
        number(met, Subject::of(manifest).words())
    )
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

fn sum(manifest: &Manifest, of: fn(&Watched) -> u64) -> u64 {
    manifest.watched.iter().map(of).sum()
}

/// What can meet the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Gaps,
    Stretches,
    Both,
}

impl Subject {
    fn of(manifest: &Manifest) -> Subject {
        let mut all = conditions(manifest);
        let of_stretches = conditions(manifest).any(|one| one.stretch_s().is_some());
        match of_stretches {
            false => Subject::Gaps,
            true if all.all(|one| one.stretch_s().is_some()) => Subject::Stretches,
            true => Subject::Both,
        }
    }

    /// One of it, and many.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Subject::Gaps => ("gap", "gaps"),
            Subject::Stretches => ("stretch", "stretches"),
            Subject::Both => ("gap or stretch", "gaps and stretches"),
        }
    }
}

fn conditions(manifest: &Manifest) -> impl Iterator<Item = &Trigger> {
    let catch = manifest.settings.catch.iter();
    catch.flat_map(|catch| &catch.conditions)
}

/// How long the longest gap was, or what gaps took of the worst stretch, and what did so.
fn worst_moment(worst: &Moment, manifest: &Manifest) -> String {
    let by = match worst.causes.first().map(|part| &part.cause) {
        Some(cause) if !cause.is_named() => {
            format!(", and who it was is not known ({cause})")
        }
        Some(cause) => format!(": {cause}"),
        None => String::new(),
    };
    let mut met = conditions(manifest).filter(|one| one.text == worst.condition);
    let Some(stretch_s) = met.find_map(Trigger::stretch_s) else {
        let gap = match Subject::of(manifest) {
            Subject::Gaps => "",
            _ => "gap ",
        };
        return format!("The longest {gap}took {}{by}.", duration(worst.ns));
    };
    let stretch = duration_round(stretch_s * 1e9);
    if worst.ns < worst.length_ns {
        let share = percent(worst.ns / worst.length_ns);
        return format!("Gaps took {share} of the worst {stretch}{by}.");
    }
    match worst.gaps_ns > worst.ns {
        true => {
            let together = duration(worst.gaps_ns);
            format!("Gaps took all of the worst {stretch}{by}. They last {together} together.")
        }
        false => format!("Gaps took all of the worst {stretch}{by}."),
    }
}

fn number(number: u64, (one, many): (&str, &str)) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
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
    use bandscope_recording::manifest::Catch;
    use bandscope_report::{Cause, Part};

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

    fn gap_condition() -> Trigger {
        Trigger {
            text: "gap > 1 ms".into(),
            longer_than_s: Some(1e-3),
            ..Trigger::default()
        }
    }

    fn stretch_condition() -> Trigger {
        Trigger {
            text: "worst 1 ms < 50 %".into(),
            window_s: Some(1e-3),
            less_than: Some(0.5),
            ..Trigger::default()
        }
    }

    /// A moment that met a condition, and what gaps took of it.
    fn moment(condition: &Trigger, length_ns: f64, ns: f64, gaps_ns: f64) -> Moment {
        Moment {
            condition: condition.text.clone(),
            length_ns,
            ns,
            gaps_ns,
            causes: vec![Part {
                cause: Cause::Task("burner".into()),
                ns,
            }],
            ..Moment::default()
        }
    }

    #[test]
    fn a_night_is_a_sentence() {
        let mut manifest = manifest();
        manifest.watched[0].met = 1;
        let moment = moment(&gap_condition(), 1.9e6, 1.9e6, 1.9e6);
        assert_eq!(
            sentence(std::slice::from_ref(&moment), &manifest),
            "CPU 1 was watched for 2 h 1 min: 1 gap met a condition. The longest took 1.9 ms: task:burner."
        );
        manifest.watched.clear();
        assert!(sentence(&[moment], &manifest).starts_with("CPU 1: 1 moment was caught so far."));
    }

    #[test]
    fn a_night_without_a_moment_names_the_longest_gap() {
        let mut manifest = manifest();
        let said = |manifest: &Manifest| sentence(&[], manifest);
        assert_eq!(
            said(&manifest),
            "CPU 1 was watched for 2 h 1 min, and nothing met a condition. The longest of 5,000 gaps took 90.0 µs."
        );
        let other = Watched {
            longest_ticks: 80_000,
            longest_cause: "host".into(),
            ..manifest.watched[0].clone()
        };
        manifest.watched.push(other);
        assert!(said(&manifest).ends_with(" The longest of 10,000 gaps took 90.0 µs."));
        manifest.watched[0].longest_cause = "task:burner".into();
        assert!(said(&manifest).ends_with(" gaps took 90.0 µs: task:burner."));
        let misspelt = Trigger {
            text: "gap:task:burnr > 50 us".into(),
            cause: "task:burnr".into(),
            ..gap_condition()
        };
        manifest.settings.catch = Some(Catch {
            conditions: vec![misspelt.clone()],
            ..Catch::default()
        });
        manifest.watched[0].unseen.push(misspelt.text.clone());
        let told = " task:burner. No gap that was long enough had task:burnr in it.";
        assert!(
            !said(&manifest).ends_with(told),
            "it is not known of the other"
        );
        manifest.watched[1].unseen.push(misspelt.text);
        assert!(said(&manifest).ends_with(told), "{}", said(&manifest));
        manifest.watched.truncate(1);
        (manifest.watched[0].gaps, manifest.watched[0].longest_ticks) = (0, 0);
        assert!(said(&manifest).ends_with(", and nothing met a condition: there was no gap."));
    }

    #[test]
    fn stretches_are_no_gaps() {
        let said = |conditions: &[Trigger], met, worst: Moment| {
            let mut manifest = manifest();
            manifest.settings.catch = Some(Catch {
                conditions: conditions.to_vec(),
                ..Catch::default()
            });
            manifest.watched[0].met = met;
            let said = sentence(&[worst], &manifest);
            let said = said.strip_prefix("CPU 1 was watched for 2 h 1 min: ");
            said.unwrap_or_default().to_owned()
        };
        let (gap, stretch) = (gap_condition(), stretch_condition());
        let (gaps, stretches) = ([gap.clone()], [stretch.clone()]);
        let both = [gap.clone(), stretch.clone()];
        let of_gap = || moment(&gap, 1.9e6, 1.9e6, 1.9e6);
        let of_stretch = |ns, gaps_ns| moment(&stretch, 999_999.7, ns, gaps_ns);
        for (conditions, met, worst, wanted) in [
            (
                &gaps[..],
                1_212,
                of_gap(),
                "1,212 gaps met a condition. The longest took 1.9 ms: task:burner.",
            ),
            (
                &stretches,
                1,
                of_stretch(620_000.0, 620_000.0),
                "1 stretch met a condition. Gaps took 62.0 % of the worst 1 ms: task:burner.",
            ),
            (
                &stretches,
                212,
                of_stretch(999_999.7, 5.2e6),
                "212 stretches met a condition. Gaps took all of the worst 1 ms: task:burner. They last 5.2 ms together.",
            ),
            (
                &both,
                1,
                of_gap(),
                "1 gap or stretch met a condition. The longest gap took 1.9 ms: task:burner.",
            ),
            (
                &both,
                7,
                of_stretch(999_999.7, 999_999.7),
                "7 gaps and stretches met a condition. Gaps took all of the worst 1 ms: task:burner.",
            ),
        ] {
            assert_eq!(said(conditions, met, worst), wanted);
        }
        let unknown = Moment {
            causes: vec![Part::default()],
            ..of_gap()
        };
        let wanted = " The longest took 1.9 ms, and who it was is not known (unnamed).";
        assert!(said(&gaps, 2, unknown).ends_with(wanted));
    }
}
