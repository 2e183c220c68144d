//! What recording kernel events adds, and what is left without it.

use super::*;
use bandscope_recording::cures::EventsShare;

/// The note of where the host's way to interrupts is.
const HOST: &str = "Savings on own lines hold the host's way to what the cure moves, less what its other short stops rise by. Both are on the line host.";

/// A cure that moves 5,000 interrupts of 6 us a second, each of which a record makes 1 us longer and the host 2 us.
fn interrupts() -> Cure {
    let mut interrupts = cure(
        "interrupts",
        &["irq:*"],
        &[("irq:eth0", 0.035), ("host", 0.02)],
        &[("irq:eth0", 0.0), ("host", 0.01)],
    );
    for (place, pair) in interrupts.pairs.iter_mut().enumerate() {
        let told = |parts_per_s: f64, share: f64| Some(EventsShare { share, parts_per_s });
        let (without, with) = (&mut pair.without, &mut pair.with);
        without.parts_per_s = [("irq:eth0".to_owned(), 5_000.0)].into();
        without.host_beside = [("irq:eth0".to_owned(), 0.01)].into();
        without.units_per_s = 1e7 * (1.0 - without.lost);
        with.units_per_s = 1e7 * (1.0 - with.lost);
        // The host takes the CPU during one in four of the measurements of what events cost.
        let is_host = place.is_multiple_of(4);
        without.events = told(5_000.0, if is_host { 0.08 } else { 0.005 });
        with.events = told(250.0, if is_host { -0.04 } else { 0.00025 });
    }
    interrupts
}

#[test]
fn a_saving_is_what_it_is_without_events_and_with_the_hosts_way() {
    let judged = judge(&session(vec![interrupts()]));
    assert!((judged.events_added_ns - 1_000.0).abs() < 1e-6);
    let found = &judged.cures[0];
    let share = |saving: Option<Saving>| saving.unwrap().share;
    // 3 points of its line, 1 of the host's way to it; what one number says of the rest the other does.
    assert!((share(found.own) - 0.04).abs() < 2e-4, "{found:#?}");
    assert!((share(found.saved) - 0.04).abs() < 4e-4, "{found:#?}");
    let line = found.lines.iter().find(|line| line.line == "irq:eth0");
    assert!((line.unwrap().share.without - 0.03).abs() < 2e-4);
    let work = found.work.unwrap();
    assert!((work.difference / 1e7 - 0.04).abs() < 4e-4, "{work:?}");
    assert_eq!(
        judged.notes,
        [
            "Recording kernel events made each interrupt, softirq and task 1.0 µs longer. All shares and savings are without that.",
            HOST
        ]
    );
}

#[test]
fn what_the_host_does_at_other_times_is_not_saved() {
    let mut interrupts = interrupts();
    for pair in &mut interrupts.pairs {
        // A tick's way and the host's own short stops rise by 0.3 points of the 1 that the way to the interrupt took.
        let rise = [("tick", 1e-3), ("host", 2e-3)];
        pair.with.host_beside = rise.map(|(line, share)| (line.to_owned(), share)).into();
        *pair.with.lines.get_mut("host").unwrap() += 3e-3;
        pair.with.lost += 3e-3;
    }
    let found = &judge(&session(vec![interrupts])).cures[0];
    let share = |saving: Option<Saving>| saving.unwrap().share;
    assert!((share(found.own) - 0.037).abs() < 2e-4, "{found:#?}");
    assert!((share(found.saved) - 0.037).abs() < 4e-4, "{found:#?}");
}

#[test]
fn what_nothing_tells_is_not_taken_off() {
    let mut silent = interrupts();
    for pair in &mut silent.pairs {
        (pair.without.events, pair.with.events) = (None, None);
    }
    let judged = judge(&session(vec![silent]));
    assert_eq!(judged.events_added_ns, 0.0);
    assert_eq!(judged.notes, [HOST]);
}

#[test]
fn what_little_tells_is_what_is_typical() {
    // On a quiet CPU, the host alone makes the stretches differ.
    let mut quiet = interrupts();
    for (place, pair) in quiet.pairs.iter_mut().enumerate() {
        let told = |trial| {
            Some(EventsShare {
                share: 0.001 + 5.0 * scatter(trial),
                parts_per_s: 300.0,
            })
        };
        (pair.without.events, pair.with.events) = (told(2 * place), told(2 * place + 1));
    }
    let judged = judge(&session(vec![quiet]));
    assert!(
        (judged.events_added_ns - 1_500.0).abs() < 100.0,
        "{judged:#?}"
    );
    assert!(
        judged.notes[0].contains("About what is typical is taken off"),
        "{judged:#?}"
    );
}

#[test]
fn nothing_is_given_back() {
    // Chance may make gaps shorter with events.
    let mut shorter = interrupts();
    for pair in &mut shorter.pairs {
        let share = -0.001;
        let events = Some(EventsShare {
            share,
            parts_per_s: 5_000.0,
        });
        (pair.without.events, pair.with.events) = (events, events);
    }
    let judged = judge(&session(vec![shorter]));
    assert_eq!(judged.events_added_ns, 0.0);
    assert_eq!(judged.notes, [HOST]);
    let own = judged.cures[0].own.unwrap();
    assert!((own.share - 0.045).abs() < 2e-4, "{own:?}");
}

#[test]
fn no_line_falls_below_nothing() {
    let mut much = interrupts();
    for pair in &mut much.pairs {
        let events = pair.without.events.as_mut().unwrap();
        events.share = 0.5;
    }
    let judged = judge(&session(vec![much]));
    let own = judged.cures[0].own.unwrap();
    assert!((own.without - 0.01).abs() < 1e-9, "{own:?}");
    let of_all = judged.cures[0].saved.unwrap();
    assert!(of_all.without > 0.0, "{of_all:?}");
}

#[test]
fn trials_of_all_together_change_nothing_of_single_cures() {
    let mut together = Cure {
        name: TOGETHER.into(),
        ..interrupts()
    };
    for pair in &mut together.pairs {
        let events = Some(EventsShare {
            share: 0.05,
            parts_per_s: 5_000.0,
        });
        (pair.without.events, pair.with.events) = (events, events);
    }
    let judged = judge(&session(vec![interrupts(), together]));
    assert!((judged.events_added_ns - 1_000.0).abs() < 1e-6);
}
