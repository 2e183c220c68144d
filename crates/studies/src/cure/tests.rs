//! Made-up sessions of which the truth is known: what each verdict takes, and how often chance gets one.

use super::*;
use bandscope_recording::cures::{Cure, Figures, Inherited, Pair};

mod chance;
mod events;
mod own_lines;
mod together;
mod work;

/// Shares of a trial by line; all of them are lost.
type Lines<'a> = &'a [(&'a str, f64)];

fn trial(lines: Lines<'_>) -> Figures {
    Figures {
        lost: lines.iter().map(|line| line.1).sum(),
        lines: lines
            .iter()
            .filter(|line| line.1 != 0.0)
            .map(|line| (line.0.to_owned(), line.1))
            .collect(),
        worst_1ms: Some(0.9 - lines[0].1),
        longest_gap_s: 1e-3 + lines[0].1 / 10.0,
        gaps_per_s: 300.0,
        ..Figures::default()
    }
}

/// A scatter of 0.1 points, the same in every test: both signs, and no order that a cure could be taken for.
fn scatter(trial: usize) -> f64 {
    ((trial * 7 % 11) as f64 - 5.0) * 3e-4
}

/// A cure of twelve pairs that count, after four pilots.
fn cure(name: &str, acts_on: &[&str], without: Lines<'_>, with: Lines<'_>) -> Cure {
    let scattered = |lines: Lines<'_>, place: usize| {
        let lines: Vec<(&str, f64)> = lines
            .iter()
            .enumerate()
            .map(|(number, line)| match line.1 > 0.0 {
                true => (line.0, line.1 + scatter(place + 3 * number)),
                false => *line,
            })
            .collect();
        trial(&lines)
    };
    let pair = |place: usize| Pair {
        pilot: place < 4,
        with_first: place.is_multiple_of(3),
        at_s: 2.0 * place as f64,
        without: scattered(without, 2 * place),
        with: scattered(with, 2 * place + 1),
    };
    Cure {
        name: name.to_owned(),
        what: "gives other tasks other CPUs".to_owned(),
        acts_on: acts_on.iter().map(|one| (*one).to_owned()).collect(),
        pairs: (0..16).map(pair).collect(),
        ..Cure::default()
    }
}

/// A cure without pairs.
fn named(name: &str) -> Cure {
    Cure {
        name: name.to_owned(),
        ..Cure::default()
    }
}

fn session(cures: Vec<Cure>) -> Cures {
    Cures {
        cpus: vec![1],
        others: vec![0],
        trial_s: 1.0,
        rate_hz: 1e4,
        events: true,
        before: trial(&[("task:stress", 0.065)]),
        cures,
        ..Cures::default()
    }
}

fn one(cure: Cure) -> Judgement {
    judge(&session(vec![cure])).cures.remove(0)
}

#[test]
fn a_cure_that_saves_helps_and_says_by_what_and_at_whose_cost() {
    let mut tasks = cure(
        "tasks",
        &["task:*"],
        &[("task:stress", 0.05), ("host", 0.01)],
        &[("task:stress", 0.0), ("host", 0.01)],
    );
    for (place, pair) in tasks.pairs.iter_mut().enumerate() {
        let busy = |busy: f64, place: usize| {
            Some(Inherited {
                busy: busy + scatter(place),
                waiting: 0.0,
            })
        };
        pair.without.others = busy(0.2, 2 * place);
        pair.with.others = busy(0.248, 2 * place + 1);
    }
    let found = one(tasks);
    assert_eq!(found.verdict, Verdict::Helps);
    assert_eq!(
        found.sentence,
        "tasks: helps: saves 5.0 points (4.8 to 5.1) of CPU 1's time: task:stress fell from 4.99 % to 0.00 %; CPU 0 is 4.8 points busier"
    );
    assert!(found.effect().starts_with("saves 5.0 points"));
    let (saved, own) = (found.saved.unwrap(), found.own.unwrap());
    assert!(
        (saved.share - 0.05).abs() < 1e-3 && saved.p_value <= 0.05,
        "{saved:?}"
    );
    assert!(
        (own.without - 0.05).abs() < 1e-3 && own.with == 0.0,
        "{own:?}"
    );
    assert_eq!(found.pairs, 12);
    let line = &found.lines[0];
    assert!(
        line.changed && line.is_own && line.line == "task:stress",
        "{line:?}"
    );
    assert!(!found.lines[1].changed && !found.lines[1].is_own);
    let worst = found.worst_1ms.unwrap();
    assert!(
        worst.is_clear() && (worst.difference - 0.05).abs() < 2e-3,
        "{worst:?}"
    );
    assert!(found.longest_gap_s.unwrap().difference < -4e-3);
}

#[test]
fn time_that_only_changed_its_name_is_not_saved() {
    let moved = |host: f64| {
        one(cure(
            "tasks",
            &["task:*"],
            &[("task:stress", 0.05), ("host", 0.01)],
            &[("task:stress", 0.0), ("host", host)],
        ))
    };
    let found = moved(0.06);
    assert_eq!(found.verdict, Verdict::WentElsewhere);
    assert_eq!(
        found.sentence,
        "tasks: what it saved went elsewhere: its lines fell by 4.99 points, but host rose by 5.02 points"
    );
    // A rise by less than half leaves a saving.
    assert_eq!(moved(0.02).verdict, Verdict::Helps);
}

#[test]
fn a_slow_pace_that_stands_longer_is_named() {
    let worse = |with: Lines<'_>, gaps: f64| {
        let without = [("pace:unsplit", 0.01), ("task:cc1", 0.005)];
        let mut worse = cure("idle", &["task:*"], &without, with);
        for pair in &mut worse.pairs {
            pair.with.gaps_per_s = gaps + 1e3 * scatter(pair.at_s as usize);
        }
        judge(&session(vec![worse]))
    };
    let standing = [("pace:unsplit", 0.035), ("task:cc1", 0.003)];
    let judged = worse(&standing, 100.0);
    let found = &judged.cures[0];
    assert_eq!(found.verdict, Verdict::MakesWorse);
    assert!(
        found.sentence.starts_with("idle: makes it worse: costs 2.3 points (2.1 to 2.5) of CPU 1's time: pace:unsplit rose from 1.0 % to 3.5 %"),
        "{}",
        found.sentence
    );
    let reason = found.reason.as_deref().unwrap();
    assert!(reason.starts_with("Fewer interruptions"), "{reason}");
    assert_eq!(judged.next_step.as_deref(), Some("bandscope lab"));
    assert!(
        judged.verdict.ends_with("Idle makes it worse."),
        "{}",
        judged.verdict
    );
    // More gaps, or another line, are reasons of their own.
    assert_eq!(worse(&standing, 400.0).next_step, None);
    let task = [("pace:unsplit", 0.01), ("task:cc1", 0.03)];
    assert_eq!(worse(&task, 100.0).next_step, None);
}

#[test]
fn what_does_nothing_says_from_where_on_a_change_would_have_been_seen() {
    let host = [("host", 0.01)];
    let found = one(cure("tasks", &["task:*"], &host, &host));
    assert_eq!(found.verdict, Verdict::DoesNothing);
    assert_eq!(
        found.sentence,
        "tasks: does nothing here: no time went to task:*; a change of all that was lost would have been seen from 0.2 points on"
    );
    let tasks = [("task:cc1", 0.01), ("host", 0.01)];
    let found = one(cure("tasks", &["task:*"], &tasks, &tasks)).sentence;
    assert!(
        found.starts_with("tasks: does nothing here: its lines took 1.0 % of the time without it and 1.0 % with it; a change would have been seen from 0."),
        "{found}"
    );
    let found = one(cure("sham", &[], &host, &host)).sentence;
    assert!(
        found
            .starts_with("sham: does nothing here: CPU 1 lost 1.0 % without it and 1.0 % with it;"),
        "{found}"
    );
}

#[test]
fn what_costs_less_than_could_be_seen_is_too_small_to_tell() {
    let lines = [("task:cc1", 0.0005), ("host", 0.05)];
    let small = cure("tasks", &["task:*"], &lines, &lines);
    let clear = [("task:cc1", 0.02), ("host", 0.05)];
    let clear = cure("interrupts", &["task:*"], &clear, &clear);
    let judged = judge(&session(vec![clear, small]));
    let verdicts: Vec<Verdict> = judged.cures.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::TooSmall, Verdict::DoesNothing]);
    let found = &judged.cures[0];
    let own = found.own.unwrap();
    assert!(own.without < own.detectable, "{own:?}");
    assert!(
        found
            .sentence
            .starts_with("tasks: too small to tell: its lines took 0.0"),
        "{}",
        found.sentence
    );
    assert!(
        found.sentence.ends_with(&format!(
            "a change would have been seen from {} on",
            own.seen_from()
        )),
        "{}",
        found.sentence
    );
    assert_eq!(
        judged.verdict,
        "None of 2 cures certainly helps CPU 1, which lost 6.5 %. What tasks could save is too small to be seen."
    );
    assert_eq!(helps(&judged), [""; 0]);
}

#[test]
fn without_kernel_events_no_line_of_gaps_is_judged() {
    let task = |with| {
        cure(
            "tasks",
            &["task:*"],
            &[("unnamed", 0.05)],
            &[("unnamed", with)],
        )
    };
    let mut blind = session(vec![task(0.0), task(0.05)]);
    blind.events = false;
    let judged = judge(&blind);
    assert_eq!(judged.cures[0].verdict, Verdict::Helps);
    assert_eq!(judged.cures[1].verdict, Verdict::DoesNothing);
    for one in &judged.cures {
        assert_eq!(one.own, None);
        assert!(!one.sentence.contains("no time went"), "{}", one.sentence);
    }
    assert!(
        judged.notes[0].starts_with("Kernel events"),
        "{:?}",
        judged.notes
    );
    // A pace needs no events.
    blind.cures = vec![cure(
        "clock",
        &["pace:*"],
        &[("pace:unsplit", 0.05)],
        &[("pace:unsplit", 0.0)],
    )];
    assert!(judge(&blind).cures[0].own.is_some());
}

#[test]
fn what_was_not_measured_is_not_judged() {
    let lines = [("task:cc1", 0.05)];
    let cured = [("task:cc1", 0.0)];
    let refused = Cure {
        missing: Some("no frequency driver here".to_owned()),
        ..named("clock")
    };
    let late = Cure {
        out_of_time: true,
        ..named("idle")
    };
    let mut begun = cure("tasks", &["task:*"], &lines, &cured);
    begun.pairs.truncate(4 + 5);
    let mut ended = session(vec![refused, late, begun]);
    let judged = judge(&ended);
    let sentences: Vec<&str> = judged.cures.iter().map(|one| &*one.sentence).collect();
    assert_eq!(
        sentences,
        [
            "clock: cannot be tried: no frequency driver here",
            "idle: not tried: no time was left",
            "tasks: not tried: only 5 pairs were made, and 6 are needed to tell"
        ]
    );
    assert_eq!(
        judged.verdict,
        "No cure was tried on CPU 1, which lost 6.5 %."
    );
    // Pilots that were all there was time for.
    let pilot = |at_s| Pair {
        pilot: true,
        at_s,
        ..Pair::default()
    };
    ended.cures[1].pairs = [0.0, 4.0, 9.0, 13.5].map(pilot).to_vec();
    assert_eq!(
        judge(&ended).cures[1].sentence,
        "idle: not tried: no time was left for the pairs that count, of 4.50 s each"
    );
    ended.interrupted = true;
    ended.cures[1].pairs.clear();
    ended.cures[1].out_of_time = false;
    let judged = judge(&ended);
    assert_eq!(
        judged.cures[1].sentence,
        "idle: not tried: the session was ended before"
    );
    assert!(
        judged.notes[0].contains("ended early"),
        "{:?}",
        judged.notes
    );
}

#[test]
fn too_few_pairs_for_many_tests_claim_nothing() {
    let lines = [("task:cc1", 0.05)];
    let all: Vec<Cure> = (0..10)
        .map(|_| {
            let mut one = cure("tasks", &["task:*"], &lines, &lines);
            one.pairs.truncate(4 + 8);
            one
        })
        .collect();
    let judged = judge(&session(all));
    for one in &judged.cures {
        assert_eq!(
            one.sentence,
            "tasks: not tried: only 8 pairs were made, and 10 are needed to tell"
        );
        assert!(one.saved.is_some());
    }
}

#[test]
fn pilots_count_for_nothing() {
    let host = [("host", 0.01)];
    let mut tasks = cure("tasks", &["task:*"], &host, &host);
    let before = one(tasks.clone());
    for pair in tasks.pairs.iter_mut().filter(|pair| pair.pilot) {
        pair.without = trial(&[("task:cc1", 0.9)]);
    }
    assert_eq!(one(tasks), before);
}
