//! What helps, tried at once, and what is kept of it.

use super::*;

fn saves(name: &str, saved: f64) -> Cure {
    cure(
        name,
        &["task:*"],
        &[("task:cc1", 0.08)],
        &[("task:cc1", 0.08 - saved)],
    )
}

#[test]
fn the_verdict_names_what_helps_and_together_is_apart() {
    let mut all = session(vec![
        saves("interrupts", 0.01),
        saves("tasks", 0.04),
        saves("sham", 0.0),
        saves("clock", 0.0),
        saves("together", 0.05),
    ]);
    all.kept = vec!["tasks".to_owned()];
    let judged = judge(&all);
    assert_eq!(helps(&judged), ["tasks", "interrupts"]);
    assert_eq!(
        judged.verdict,
        "2 of 3 cures help CPU 1, which lost 6.5 %: tasks saves 4.0 points, interrupts saves 1.0 points. Together they save 5.0 points."
    );
    let order: Vec<&str> = judged.cures.iter().map(|one| &*one.name).collect();
    assert_eq!(order, ["together", "tasks", "interrupts", "sham", "clock"]);
    assert!(judged.cures[1].is_kept && !judged.cures[2].is_kept);
    assert_eq!(judged.notes, [""; 0]);
    // A sham that does something makes all of it doubtful.
    all.cures[2] = saves("sham", 0.03);
    let judged = judge(&all);
    assert!(
        judged.notes[0].starts_with("The sham changes nothing and was found to help."),
        "{:?}",
        judged.notes
    );
    assert_eq!(helps(&judged), ["tasks", "interrupts"]);
}

#[test]
fn together_changes_no_verdict_of_a_single_cure() {
    let host = [("host", 0.01)];
    let mut all = session(vec![
        saves("tasks", 0.04),
        cure("clock", &["pace:*"], &host, &host),
    ]);
    // So few pairs reach the level among four tests, and would not among six.
    for one in &mut all.cures {
        one.pairs.truncate(4 + 8);
    }
    let alone = judge(&all);
    assert_eq!(alone.cures[0].verdict, Verdict::Helps);
    let mut together = saves("together", 0.0);
    for pair in &mut together.pairs {
        pair.with = pair.without.clone();
    }
    all.cures.push(together);
    let judged = judge(&all);
    let singles = judged.cures.iter().filter(|one| one.is_single());
    assert!(singles.eq(&alone.cures));
    // Its own two tests need fewer pairs than those of four.
    all.cures[2] = saves("together", 0.04);
    all.cures[2].pairs.truncate(4 + 7);
    let judged = judge(&all);
    assert_eq!(judged.cures[0].name, "together");
    let saved = judged.cures[0].saved.unwrap();
    assert!((saved.p_value - 2.0 / 64.0).abs() < 1e-12, "{saved:?}");
}

#[test]
fn what_was_not_found_to_work_together_is_not_kept_together() {
    let singles = || vec![saves("interrupts", 0.01), saves("tasks", 0.04)];
    let kept = |together: Option<Cure>| {
        let mut all = session(singles());
        all.cures.extend(together);
        keepable(&judge(&all), |_| true).names
    };
    assert_eq!(kept(None), ["tasks"]);
    assert_eq!(kept(Some(saves("together", 0.05))), ["tasks", "interrupts"]);
    assert_eq!(kept(Some(saves("together", -0.03))), ["tasks"]);
    // What saves nothing together is not known to be of use as it would be left.
    assert_eq!(kept(Some(saves("together", 0.0))), ["tasks"]);
    // Its lines fell, and whether the CPU gained by it is not known.
    let mut open = cure(
        "together",
        &["task:*"],
        &[("task:cc1", 0.01), ("host", 0.04)],
        &[("task:cc1", 0.0), ("host", 0.04)],
    );
    for (place, pair) in open.pairs.iter_mut().enumerate() {
        pair.with.lost += 40.0 * scatter(place);
    }
    let mut all = session(singles());
    all.cures.push(open);
    let judged = judge(&all);
    let together = judged.cures.iter().find(|one| one.name == "together");
    assert_eq!(
        together.unwrap().verdict,
        Verdict::Undecided,
        "{together:?}"
    );
    let kept_then = keepable(&judged, |_| true);
    assert_eq!(kept_then.names, ["tasks"]);
    assert_eq!(
        kept_then.why_not_all,
        Some("together they were not found to help")
    );
    let mut begun = saves("together", 0.05);
    begun.pairs.truncate(4 + 3);
    assert_eq!(kept(Some(begun)), ["tasks"]);
    let refused = Cure {
        missing: Some("tasks cannot be moved now".to_owned()),
        ..named("together")
    };
    assert_eq!(kept(Some(refused)), ["tasks"]);
    let late = Cure {
        out_of_time: true,
        ..named("together")
    };
    assert_eq!(kept(Some(late)), ["tasks"]);
    let mut ended = session(singles());
    ended.cures.push(saves("together", 0.05));
    ended.interrupted = true;
    assert_eq!(keepable(&judge(&ended), |_| true).names, ["tasks"]);
    // What ends with the program is not kept, nor needed together.
    let mut some = session(singles());
    some.cures.push(saves("together", -0.03));
    let kept = keepable(&judge(&some), |name| name != "tasks");
    assert_eq!(
        (&*kept.names, kept.why_not_all),
        (&["interrupts".to_owned()][..], None)
    );
    // One that helps needs nothing together, and none keeps nothing.
    let host = [("host", 0.01)];
    let one = session(vec![
        saves("tasks", 0.04),
        cure("clock", &["pace:*"], &host, &host),
    ]);
    let one = keepable(&judge(&one), |_| true);
    assert_eq!(
        (&*one.names, one.why_not_all),
        (&["tasks".to_owned()][..], None)
    );
    assert_eq!(
        keepable(&judge(&session(Vec::new())), |_| true),
        Keepable::default()
    );
}
