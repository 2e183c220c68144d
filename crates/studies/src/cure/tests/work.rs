//! The work of each second, which knows what shares of each trial's own best pace cannot.

use super::*;

/// A cure that saves 5 points, with so much work per second in each trial.
fn tasks(without: f64, with: f64) -> Cure {
    let mut tasks = cure(
        "tasks",
        &["task:*"],
        &[("task:stress", 0.05), ("host", 0.01)],
        &[("task:stress", 0.0), ("host", 0.01)],
    );
    for (place, pair) in tasks.pairs.iter_mut().enumerate() {
        pair.without.units_per_s = without * (1.0 + scatter(2 * place));
        pair.with.units_per_s = with * (1.0 + scatter(2 * place + 1));
    }
    tasks
}

#[test]
fn a_cure_that_slows_the_cpu_does_not_help() {
    let judged = judge(&session(vec![tasks(1e7, 8.8e6)]));
    let found = &judged.cures[0];
    assert_eq!(found.verdict, Verdict::MakesWorse);
    assert_eq!(
        found.sentence,
        "tasks: makes it worse: each second holds 12.0 % less work, though less of it is lost, by 5.0 points"
    );
    assert_eq!(
        found.reason.as_deref(),
        Some("The whole CPU became slower, and 100 % is each trial's own best pace.")
    );
    let change = found.work_change().unwrap();
    assert!((change + 0.12).abs() < 1e-3, "{change}");
    assert_eq!(helps(&judged), [""; 0]);
    // The core's states do not explain it.
    assert_eq!(judged.next_step, None);
    let mut together = tasks(1e7, 8.8e6);
    together.name = "together".to_owned();
    let judged = judge(&session(vec![tasks(1e7, 1.05e7), together]));
    assert!(
        judged
            .verdict
            .ends_with("Together they leave less work in each second."),
        "{}",
        judged.verdict
    );
}

#[test]
fn work_is_told_and_only_a_certain_loss_of_it_counts() {
    let gained = one(tasks(1e7, 1.05e7));
    assert_eq!(gained.verdict, Verdict::Helps);
    let change = gained.work_change().unwrap();
    assert!((change - 0.05).abs() < 1e-3, "{change}");
    // Less than 1 %, and less than what it scatters by.
    let little = one(tasks(1e7, 9.95e6));
    assert_eq!(
        (little.verdict, little.work_change()),
        (Verdict::Helps, None)
    );
    let mut scattered = tasks(1e7, 9.7e6);
    for (place, pair) in scattered.pairs.iter_mut().enumerate() {
        pair.with.units_per_s *= 1.0 + 100.0 * scatter(3 * place);
    }
    let scattered = one(scattered);
    assert_eq!(
        (scattered.verdict, scattered.work_change()),
        (Verdict::Helps, None)
    );
    assert!(scattered.work.is_some());
}

#[test]
fn work_that_is_not_known_decides_nothing() {
    let unknown = one(tasks(0.0, 0.0));
    assert_eq!((unknown.verdict, unknown.work), (Verdict::Helps, None));
    assert_eq!(one(tasks(1e7, 0.0)).work, None);
}

/// Were these pairs left out, the other nine would say that it helps.
#[test]
fn a_cure_under_which_others_take_the_cpu_does_not_help() {
    let mut tasks = tasks(1e7, 1e7);
    assert_eq!(one(tasks.clone()).verdict, Verdict::Helps);
    for pair in tasks.pairs.iter_mut().skip(4).step_by(4) {
        pair.with = starved(1.0);
    }
    let found = one(tasks);
    assert_eq!(found.verdict, Verdict::Undecided, "{found:#?}");
}
