//! Who is behind what, on records of a few CPUs.

use super::doing::LONGEST_TIMER_NS;
use super::table::MOST_ACTS;
use super::*;
use crate::trace::functions::Function;

fn wakes(number: u32, by: Level) -> Point {
    Point::Wakes {
        number,
        name: "t".into(),
        by,
    }
}

fn stay(number: u32, start: u64) -> Interval {
    Interval {
        start,
        end: start + 10,
        kind: EventKind::Task,
        number,
        name: "t".into(),
        functions: Vec::new(),
        timer: 0,
    }
}

fn enter(kind: EventKind, name: &str) -> Point {
    Point::Enter {
        kind,
        number: 1,
        name: name.into(),
    }
}

#[test]
fn a_stay_is_caused_by_the_wake_up_before_it_and_by_that_alone() {
    let mut senders = Senders::default();
    let doing = Doing::default();
    let own = std::process::id();
    // Of two CPUs, the rings of which are emptied one by one.
    for (time, cpu) in [(100, 0), (300, 0), (200, 1)] {
        senders.see((time, cpu, own), &doing, &wakes(7, Level::Task), "a".into());
    }
    let mut woken = |start| {
        senders
            .of(&stay(7, start), 0)
            .map(|woken| (woken.at, woken.cpu))
    };
    assert_eq!(woken(50), None, "before all");
    assert_eq!(woken(210), Some((200, 1)));
    assert_eq!(woken(230), None, "nobody knows how it left");
    assert_eq!(woken(305), Some((300, 0)));
    let name = senders.task(100, own);
    assert!(name.starts_with("task:"), "{name}");
    assert_eq!(&*senders.task(100, 0), "idle");
    assert_eq!(&*senders.task(100, u32::MAX), "task");
}

#[test]
fn a_task_that_left_a_cpu_while_it_could_run_runs_on() {
    let runnable = Left::Runnable { realtime: false };
    let leaves = |previous, left| Point::Switch {
        previous,
        next: 9,
        name: "t".into(),
        left,
    };
    let mut senders = Senders::default();
    for (time, point) in [
        (100, wakes(7, Level::Task)),
        (200, leaves(7, runnable)),
        (300, leaves(7, Left::Waits)),
        (310, leaves(0, runnable)),
        (400, wakes(7, Level::Task)),
    ] {
        senders.see((time, 1, 0), &Doing::default(), &point, Arc::default());
    }
    let mut of = |task, start| {
        let sent = senders.of(&stay(task, start), 0);
        sent.map(|sent| (sent.at, sent.cpu, sent.name.to_string()))
    };
    let sent = |at, name: &str| Some((at, 1, name.to_owned()));
    assert_eq!(of(7, 110), sent(100, "idle"));
    assert_eq!(of(7, 210), sent(200, RUNNABLE));
    assert_eq!(of(7, 305), None, "nobody knows who woke it");
    assert_eq!(of(7, 410), sent(400, "idle"));
    assert_eq!(of(0, 320), None, "idle");
    let leave = leaves(7, runnable);
    senders.see((500, 1, 0), &Doing::default(), &leave, Arc::default());
    senders.lose();
    assert_eq!(senders.of(&stay(7, 510), 0), None, "it may have been woken");
}

#[test]
fn an_interrupt_by_another_cpu_has_a_sender() {
    let mut senders = Senders::default();
    let sends = Point::Sends {
        cpus: vec![0, 2],
        by: Level::Softirq,
    };
    senders.see((100, 1, 0), &Doing::default(), &sends, Arc::default());
    let mut of = |number, start, cpu| {
        let vector = Interval {
            kind: EventKind::Vector,
            ..stay(number, start)
        };
        let sent = senders.of(&vector, cpu);
        sent.map(|sent| (sent.at, sent.cpu, sent.name.to_string()))
    };
    let sent = Some((100, 1, "softirq".to_owned()));
    assert_eq!(of(0xfb, 105, 1), None, "another CPU");
    assert_eq!(of(0xec, 105, 0), None, "its own timer");
    assert_eq!(of(0xfb, 105, 0), sent);
    assert_eq!(of(0xfb, 205, 0), None, "it came");
    assert_eq!(of(0xfc, 110, 2), sent);
}

#[test]
fn an_interrupt_and_a_softirq_are_named() {
    let mut doing = Doing::default();
    let expired = |is_tick, name: &str| {
        let name = name.into();
        let function = Function { is_tick, name };
        Point::Expires {
            timer: 5,
            function,
            by: Level::Interrupt,
        }
    };
    let is = |doing: &Doing, time, by, wanted: Option<&str>| {
        let waker = doing.agent(time, by).map(|agent| agent.name);
        assert_eq!(waker.as_deref(), wanted);
    };
    is(&doing, 1, Level::Task, None);
    is(&doing, 1, Level::Interrupt, Some("interrupt"));
    doing.see(10, &expired(false, "hrtimer_wakeup"));
    is(&doing, 12, Level::Interrupt, Some("timer:hrtimer_wakeup"));
    is(
        &doing,
        10 + LONGEST_TIMER_NS + 1,
        Level::Interrupt,
        Some("interrupt"),
    );
    doing.see(20, &expired(true, "tick_nohz_handler"));
    is(&doing, 22, Level::Interrupt, Some("tick"));
    doing.see(30, &enter(EventKind::Interrupt, "nvme0q1"));
    is(&doing, 31, Level::Interrupt, Some("irq:nvme0q1"));
    let exit = |kind| Point::Exit { kind, number: 1 };
    doing.see(32, &exit(EventKind::Interrupt));
    doing.see(33, &enter(EventKind::Vector, "reschedule"));
    is(&doing, 34, Level::Interrupt, Some("irq:reschedule"));
    doing.see(35, &exit(EventKind::Vector));
    is(&doing, 36, Level::Interrupt, Some("interrupt"));
    doing.see(36, &enter(EventKind::Interrupt, "arch_timer"));
    doing.see(37, &expired(false, "it_real_fn"));
    let long = 37 + 2 * LONGEST_TIMER_NS;
    is(&doing, long, Level::Interrupt, Some("timer:it_real_fn"));
    doing.see(38, &exit(EventKind::Interrupt));
    is(&doing, 39, Level::Interrupt, Some("interrupt"));
    doing.see(40, &enter(EventKind::Softirq, "TIMER"));
    is(&doing, 41, Level::Softirq, Some("softirq:TIMER"));
    let runs = Point::Runs {
        timer: 6,
        function: "delayed_work_timer_fn".into(),
    };
    doing.see(42, &runs);
    is(
        &doing,
        43,
        Level::Softirq,
        Some("timer:delayed_work_timer_fn"),
    );
    doing.see(44, &exit(EventKind::Softirq));
    is(&doing, 45, Level::Softirq, Some("softirq"));
}

#[test]
fn what_is_settled_needs_no_memory() {
    let mut senders = Senders::default();
    let doing = Doing::default();
    for time in 0..1000 {
        senders.see((time, 0, 0), &doing, &wakes(7, Level::Task), Arc::default());
    }
    senders.forget(900);
    assert_eq!(
        senders.sent.acts[&Target::Task(7)].len(),
        101,
        "one of before may still wait"
    );
    assert_eq!(senders.sent.number, 101);
    senders.forget(900 + 2 * LONGEST_WAIT_NS);
    assert!(senders.sent.acts.is_empty() && senders.sent.number == 0);
    for time in 0..=MOST_ACTS as u64 {
        let wakes = wakes(time as u32 % 7, Level::Task);
        senders.see((time, 0, 0), &doing, &wakes, Arc::default());
    }
    assert_eq!((senders.sent.number, senders.lost()), (MOST_ACTS, 1));
    senders.forget(MOST_ACTS as u64);
    let memory: usize = senders
        .sent
        .acts
        .values()
        .map(std::collections::VecDeque::capacity)
        .sum();
    assert!(memory < 1000, "{memory}");
}

#[test]
fn who_sets_a_timer_is_behind_what_it_wakes() {
    let mut senders = Senders::default();
    let mut doing = Doing::default();
    let sets = |timer, by| Point::Sets { timer, by };
    let own = std::process::id();
    let name = senders.task(100, own);
    senders.see(
        (100, 1, own),
        &doing,
        &sets(5, Level::Task),
        "ep_poll".into(),
    );
    for time in [1000, 2000] {
        let function = Function {
            is_tick: false,
            name: "hrtimer_wakeup".into(),
        };
        let by = Level::Interrupt;
        doing.see(
            time,
            &Point::Expires {
                timer: 5,
                function,
                by,
            },
        );
        // It goes on by itself.
        let again = sets(5, Level::Interrupt);
        senders.see((time + 1, 0, 0), &doing, &again, Arc::default());
        let wakes = wakes(7, Level::Interrupt);
        senders.see((time + 2, 0, 0), &doing, &wakes, "hrtimer_wakeup".into());
        let sent = senders.of(&stay(7, time + 5), 0).unwrap_or_default();
        assert_eq!((&*sent.name, sent.cpu), ("timer:hrtimer_wakeup", 0));
        assert_eq!((&*sent.caller, sent.set_by), ("ep_poll", name.clone()));
        // What sets another one is the timer.
        let other = sets(time, Level::Interrupt);
        senders.see((time + 3, 0, 0), &doing, &other, "any".into());
        let expired = |timer| Interval {
            kind: EventKind::Timer,
            timer,
            ..stay(0, time + 9)
        };
        let set = senders.of(&expired(5), 0).unwrap_or_default();
        assert_eq!((set.at, set.cpu, set.name), (100, 1, name.clone()));
        let set = senders.of(&expired(time), 0).unwrap_or_default();
        assert_eq!((&*set.name, &*set.caller), ("timer:hrtimer_wakeup", ""));
        assert_eq!(senders.of(&expired(6), 0), None);
    }
    senders.forget(LONGEST_SET_NS);
    assert_eq!(senders.set.number, 3);
    senders.forget(LONGEST_SET_NS + 101);
    assert_eq!(senders.set.number, 3, "not so often");
    senders.forget(LONGEST_SET_NS + FORGET_EACH_NS + 1);
    assert_eq!(senders.set.number, 0);
    senders.see((1, 1, own), &doing, &sets(5, Level::Task), Arc::default());
    senders.lose();
    assert_eq!(senders.set.last(&5, 10).map(|act| act.at), None);
}

#[test]
fn a_softirq_is_raised_on_its_cpu() {
    let mut senders = Senders::default();
    let raises = Point::Raises {
        number: 3,
        by: Level::Task,
    };
    let caller = || "loopback_xmit".into();
    let mut doing = Doing::default();
    for (time, thread) in [(100, 0), (103, std::process::id())] {
        senders.see((time, 1, thread), &doing, &raises, caller());
        doing.see(time, &raises);
    }
    let softirq = Interval {
        kind: EventKind::Softirq,
        ..stay(3, 105)
    };
    assert_eq!(senders.of(&softirq, 0), None, "of another CPU");
    let sent = senders.of(&softirq, 1).unwrap_or_default();
    let first = (100, "idle", caller());
    assert_eq!(
        (sent.at, &*sent.name, sent.caller),
        first,
        "it waits already"
    );
    let enters = Point::Enter {
        kind: EventKind::Softirq,
        number: 3,
        name: "NET_RX".into(),
    };
    doing.see(105, &enters);
    assert!(!doing.is_raised(3));
}

#[test]
fn a_name_is_read_again_after_a_while() {
    let mut senders = Senders::default();
    let own = std::process::id();
    senders.names.insert(own, (100, "task:before".into()));
    assert_eq!(&*senders.task(100 + NAMED_NS, own), "task:before");
    assert_ne!(&*senders.task(101 + NAMED_NS, own), "task:before");
}
