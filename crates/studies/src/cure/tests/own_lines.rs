//! Verdicts that rest on the lines on which a cure acts.

use super::*;

/// From -1 to 1, in no order that a cure could be taken for.
fn noise(place: usize) -> f64 {
    scatter(5 * place) / scatter(3)
}

fn interrupts() -> Cure {
    cure(
        "interrupts",
        &["irq:*"],
        &[("irq:eth0", 0.006)],
        &[("irq:eth0", 0.0)],
    )
}

#[test]
fn own_lines_tell_what_many_tests_hide() {
    let mut found = interrupts();
    // The rest falls by about 1 point, and surely does not rise by 0.3.
    for (place, pair) in found.pairs.iter_mut().enumerate() {
        pair.without.lost += 0.08;
        pair.with.lost += 0.07 + 0.022 * noise(place);
    }
    let host = [("host", 0.01)];
    let mut all = session(vec![found]);
    all.cures
        .extend((0..9).map(|_| cure("clock", &["task:*"], &host, &host)));
    let judged = judge(&all);
    let found = &judged.cures[0];
    let saved = found.saved.unwrap();
    assert!(saved.p_value > 0.05, "{saved:?}");
    assert_eq!(found.verdict, Verdict::Helps, "{found:#?}");
    assert!(
        found.sentence.starts_with("interrupts: helps: saves 0.59 points (0.5")
            && found.sentence.contains("on its own lines: irq:eth0 fell from 0.59 % to 0.00 %; the total alone does not prove it ("),
        "{}",
        found.sentence
    );
    assert!(found.rests_on_own_lines());
    assert_eq!(found.saving(), found.own);
    assert!(
        judged
            .verdict
            .ends_with("interrupts saves 0.59 points on its own lines."),
        "{}",
        judged.verdict
    );
}

#[test]
fn short_stops_of_the_host_hide_no_line() {
    let mut found = interrupts();
    let shares = |all: &[(&str, f64)]| {
        let shares = all.iter().map(|&(line, share)| (line.to_owned(), share));
        shares.collect()
    };
    for (place, pair) in found.pairs.iter_mut().enumerate() {
        // The way takes 0.02 points; other stops scatter by more than its line takes.
        pair.without.host_beside = shares(&[("irq:eth0", 2e-4), ("host", 0.01)]);
        pair.with.host_beside = shares(&[("host", 0.01 + 9e-3 * noise(place))]);
    }
    let own = judge(&session(vec![found])).cures[0].own.unwrap();
    assert!((5.8e-3..6.4e-3).contains(&own.share), "{own:?}");
    assert!(own.interval[1] - own.interval[0] < 2e-3, "{own:?}");
    assert!(own.fell() && own.with >= 0.0, "{own:?}");
}

#[test]
fn whether_the_cpu_gained_what_its_lines_lost_may_be_open() {
    let mut found = interrupts();
    for (place, pair) in found.pairs.iter_mut().enumerate() {
        pair.without.lost += 0.05;
        pair.with.lost += 0.05 + 0.02 * noise(place);
    }
    let host = [("host", 0.01)];
    let judged = judge(&session(vec![
        found,
        cure("clock", &["task:*"], &host, &host),
    ]));
    let found = &judged.cures[0];
    assert_eq!(found.verdict, Verdict::Undecided, "{found:#?}");
    assert!(
        found.sentence.starts_with("interrupts: cannot tell: its lines fell by 0.59 points; whether CPU 1 gained them cannot be told, as all that was lost scatters by ±0."),
        "{}",
        found.sentence
    );
    assert_eq!(helps(&judged), [""; 0]);
    assert_eq!(
        judged.verdict,
        "None of 2 cures certainly helps CPU 1, which lost 6.5 %. Whether interrupts helps cannot be told."
    );
}

#[test]
fn what_comes_back_slowly_is_noted() {
    let lines = [("task:cc1", 0.05)];
    let noted = |after: f64| {
        let mut tasks = cure("tasks", &["task:*"], &lines, &[("task:cc1", 0.0)]);
        for (place, pair) in tasks.pairs.iter_mut().enumerate() {
            // The third of each three pairs comes after one that ended with it.
            if place % 3 != 1 {
                pair.without = trial(&[("task:cc1", after + scatter(place))]);
            }
        }
        judge(&session(vec![tasks])).notes
    };
    assert_eq!(
        noted(0.03),
        [
            "What was moved comes back slowly (tasks): the lines acted on took less in trials without the cure that followed one with it. The saving may be larger."
        ]
    );
    // Neither a small difference nor one the other way.
    assert_eq!(noted(0.045), [""; 0]);
    assert_eq!(noted(0.07), [""; 0]);
}
