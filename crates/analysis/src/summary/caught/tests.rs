//! The verdict on what was caught, word by word.

use super::*;
use bandscope_recording::manifest::{Catch, LostEvents};
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
fn for_how_long_nobody_could_tell_is_told() {
    let mut manifest = manifest();
    manifest.watched[0].met = 7;
    let moment = moment(&gap_condition(), 1.9e6, 1.9e6, 1.9e6);
    let wall = manifest.watched[0].wall_ticks;
    let lost = |cpu, from, to| LostEvents {
        cpu,
        from,
        to,
        events: 9,
    };
    let said = |manifest: &Manifest| sentence(std::slice::from_ref(&moment), manifest);
    // Spans that overlap count once, those of another CPU not, and little is not told.
    manifest.events.lost = vec![lost(1, 0, wall / 200), lost(0, 0, wall)];
    assert!(!said(&manifest).contains("lost"), "{}", said(&manifest));
    manifest.events.lost = vec![
        lost(1, wall / 2, wall * 3 / 4),
        lost(1, wall * 5 / 8, wall * 3 / 4),
        lost(1, wall * 3 / 4, u64::MAX >> 1),
    ];
    let told = " Kernel events were lost for 60 min: what a gap was then is not known.";
    let wanted = format!("met a condition.{told} The longest");
    assert!(said(&manifest).contains(&wanted), "{}", said(&manifest));
    manifest.watched[0].met = 0;
    assert!(sentence(&[], &manifest).ends_with(told));
    // Of two the worse; and a gap that was asked for by its cause may have been missed.
    manifest.watched.push(Watched {
        cpu: 2,
        ..manifest.watched[0].clone()
    });
    let of_tasks = Trigger {
        cause: "task:*".into(),
        ..gap_condition()
    };
    manifest.settings.catch = Some(Catch {
        conditions: vec![of_tasks],
        ..Catch::default()
    });
    let told = " Kernel events of CPU 1 were lost for 60 min: what a gap was then is not known, nor whether it was asked for.";
    assert!(
        sentence(&[], &manifest).ends_with(told),
        "{}",
        sentence(&[], &manifest)
    );
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
    assert!(
        said(&manifest)
            .ends_with(", and nothing met \"gap:task:burnr > 50 us\": there was no gap.")
    );
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
            "1,212 gaps met \"gap > 1 ms\". The longest took 1.9 ms: task:burner.",
        ),
        (
            &stretches,
            1,
            of_stretch(620_000.0, 620_000.0),
            "1 stretch met \"worst 1 ms < 50 %\". Gaps took 62.0 % of the worst 1 ms: task:burner.",
        ),
        (
            &stretches,
            212,
            of_stretch(999_999.7, 5.2e6),
            "212 stretches met \"worst 1 ms < 50 %\". Gaps took all of the worst 1 ms: task:burner. They last 5.2 ms together.",
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

#[test]
fn what_was_asked_for_is_told_of_its_gap_and_how_often_each_cause_met_it() {
    let mut manifest = manifest();
    let of_tasks = Trigger {
        text: "gap:task:* \n > 50 us".into(),
        cause: "task:*".into(),
        ..gap_condition()
    };
    manifest.settings.catch = Some(Catch {
        conditions: vec![of_tasks.clone()],
        ..Catch::default()
    });
    manifest.watched[0].met = 1_000;
    let met = [
        ("task:make", 300),
        ("task:cc1", 200),
        ("task:as", 60),
        ("task:ld", 25),
        ("task:*", 400),
        ("", 15),
    ];
    let met = met.map(|(cause, met)| (cause.to_owned(), met));
    manifest.watched[0].met_by = met.into();
    let mut worst = moment(&of_tasks, 1.2e6, 81e3, 81e3);
    let watched = "CPU 1 was watched for 2 h 1 min: 1,000 gaps met \"gap:task:* > 50 us\".";
    let causes = " By main cause: 300 of task:make, 200 of task:cc1, 60 of task:as, 440 of others.";
    assert_eq!(
        sentence(std::slice::from_ref(&worst), &manifest),
        format!(
            "{watched}{causes} The longest such part was 81.0 µs of a gap of 1.2 ms: task:burner."
        )
    );
    worst.causes[0].ns = 50e3;
    let said = sentence(std::slice::from_ref(&worst), &manifest);
    assert!(
        said.ends_with(" of a gap of 1.2 ms, most of it task:burner."),
        "{said}"
    );
    // What does not add up is not said, and what is too long is not repeated.
    let hostile = manifest.watched[0].met_by.values_mut();
    hostile.for_each(|number| *number = u64::MAX);
    if let Some(catch) = &mut manifest.settings.catch {
        catch.conditions[0].text = "a".repeat(100);
    }
    let said = sentence(&[worst], &manifest);
    assert!(
        said.contains(": 1,000 gaps met a condition. The longest"),
        "{said}"
    );
}
