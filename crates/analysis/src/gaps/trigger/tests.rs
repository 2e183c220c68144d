//! Conditions on gaps at a tick a nanosecond.

use super::*;

fn gap(start: u64, duration: u64) -> Gap {
    Gap {
        start,
        duration,
        ..Gap::default()
    }
}

fn longer(cause: &str, seconds: f64) -> Trigger {
    Trigger {
        cause: cause.into(),
        longer_than_s: Some(seconds),
        ..Trigger::default()
    }
}

fn share(key: u32, ticks: u64) -> Share {
    Share {
        key,
        ticks,
        from: 0,
    }
}

#[test]
fn a_gap_is_longer_as_a_whole_or_by_its_cause() {
    let names = [
        Cause::Host,
        Cause::Task("cc1".into()),
        Cause::Task("as".into()),
    ];
    let shares = [share(0, 40), share(1, 50), share(2, 30)];
    let hit = |cause: &str, ns: f64| {
        let mut conditions = Conditions::new(&[longer(cause, ns * 1e-9)], Some(1), 1.0);
        let hit = conditions.hit(&gap(1000, 120), &shares, &names);
        hit.map(|hit| (hit.to - hit.from, hit.lost, hit.cause(&names)))
    };
    // Of the gap of 120 what was asked for.
    let part = |ticks, cause: &str| Some((120, ticks, cause.to_owned()));
    assert_eq!(
        (hit("", 119.0), hit("", 120.0)),
        (part(120, "task:cc1"), None)
    );
    assert_eq!(
        (hit("host", 39.0), hit("host", 40.0)),
        (part(40, "host"), None)
    );
    assert_eq!(
        (hit("task:*", 79.0), hit("task:*", 80.0)),
        (part(80, "task:cc1"), None)
    );
    assert_eq!(
        (hit("task:as", 29.0), hit("task:a", 1.0)),
        (part(30, "task:as"), None)
    );
    assert_eq!(hit("irq:*", 0.0), None);
}

#[test]
fn what_is_excepted_does_not_count() {
    let names = [
        Cause::Host,
        Cause::Task("cc1".into()),
        Cause::Task("as".into()),
        Cause::Unnamed,
    ];
    let shares = [share(0, 40), share(1, 50), share(2, 30), share(3, 10)];
    let lost = |cause: &str, except: &[&str]| {
        let trigger = Trigger {
            except: except.iter().map(|one| (*one).to_owned()).collect(),
            ..longer(cause, 0.0)
        };
        let mut conditions = Conditions::new(&[trigger], Some(1), 1.0);
        let hit = conditions.hit(&gap(1000, 130), &shares, &names);
        hit.map(|hit| (hit.lost, hit.cause(&names)))
    };
    let of = |ticks, cause: &str| Some((ticks, cause.to_owned()));
    assert_eq!(lost("", &["task:cc1"]), of(80, "host"));
    // What nobody has named may be anything.
    assert_eq!(lost("", &["task:*", "host"]), of(10, "unnamed"));
    assert_eq!(lost("task:*", &["task:cc1"]), of(30, "task:as"));
    assert_eq!(lost("task:cc1", &["task:c*"]), None);
    // It was there, and is excepted: nobody may say that it was not.
    let trigger = Trigger {
        except: vec!["task:cc1".into()],
        ..longer("task:c*", 0.0)
    };
    let mut conditions = Conditions::new(&[trigger], Some(1), 1.0);
    assert_eq!(conditions.hit(&gap(1000, 130), &shares, &names), None);
    assert_eq!(conditions.unseen().count(), 0);
}

#[test]
fn gaps_close_together_leave_too_little_of_a_stretch() {
    let trigger = Trigger {
        window_s: Some(1e-6),
        less_than: Some(0.5),
        ..Trigger::default()
    };
    let mut conditions = Conditions::new(&[trigger], None, 1.0);
    let mut hit = |start, duration| conditions.hit(&gap(start, duration), &[], &[]);
    assert_eq!(hit(0, 400), None);
    assert_eq!(hit(2_000, 300), None, "the first one is gone");
    assert_eq!(hit(2_400, 190), None, "490 of 1000");
    let wanted = Hit {
        condition: 0,
        from: 1_900,
        to: 2_900,
        lost: 590,
        gaps: 590,
        main: None,
        goes_on: false,
    };
    assert_eq!(hit(2_800, 100), Some(wanted));
    assert_eq!(hit(3_150, 150), None, "440 of 1000");
    let long = Some(Hit {
        from: 9_000,
        to: 10_000,
        lost: 1_000,
        gaps: 5_000,
        ..wanted
    });
    assert_eq!(hit(5_000, 5_000), long, "longer than the stretch");
}

#[test]
fn a_stretch_has_the_cause_that_took_most_of_it() {
    let trigger = Trigger {
        window_s: Some(1e-6),
        less_than: Some(0.5),
        ..Trigger::default()
    };
    let names = ["cc1", "kworker/1:2"].map(|name| Cause::Task(name.into()));
    let mut conditions = Conditions::new(&[trigger], None, 1.0);
    let mut hit = |start, duration, key| {
        let shares = [share(key, duration)];
        let hit = conditions.hit(&gap(start, duration), &shares, &names);
        hit.map(|hit| (hit.rank(), hit.cause(&names)))
    };
    assert_eq!(hit(0, 4_000, 0), Some(((1_000, 4_000), "task:cc1".into())));
    // Of the first gap 300 ticks lie within.
    let worker = "task:kworker/1".to_owned();
    assert_eq!(hit(4_100, 600, 1), Some(((900, 4_600), worker.clone())));
    assert_eq!(hit(9_000, 600, 1), Some(((600, 600), worker)));
    let unnamed = conditions.hit(&gap(20_000, 900), &[], &names);
    assert_eq!(unnamed.map(|hit| hit.cause(&names)), Some(String::new()));
}

#[test]
fn of_two_hits_without_any_work_the_longer_gap_is_the_worse() {
    let hits = [2_000_u64, 5_000, 900].map(|duration| {
        let trigger = Trigger {
            window_s: Some(1e-6),
            less_than: Some(0.5),
            ..Trigger::default()
        };
        let mut conditions = Conditions::new(&[trigger], None, 1.0);
        conditions.hit(&gap(0, duration), &[], &[])
    });
    let worst = hits.into_iter().flatten().max_by_key(Hit::rank);
    assert_eq!(worst.map(|hit| (hit.lost, hit.gaps)), Some((1_000, 5_000)));
}

#[test]
fn conditions_are_of_their_cpu() {
    let of_two = Trigger {
        cpu: Some(2),
        ..longer("", 1e-9)
    };
    assert!(!Conditions::new(std::slice::from_ref(&of_two), Some(1), 1.0).concern(&gap(0, 2)));
    let conditions = Conditions::new(&[longer("", 1.0), of_two], Some(2), 1.0);
    assert!(conditions.concern(&gap(0, 2)) && !conditions.concern(&gap(0, 1)));
}
