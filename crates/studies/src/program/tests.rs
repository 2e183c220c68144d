use super::*;
use bandscope_recording::program::{Line, State as Met};

fn trials(ns: f64) -> Trials {
    Trials::Nanoseconds(
        (0..12)
            .map(|round| ns * (1.0 + 0.002 * f64::from(round % 5)))
            .collect(),
    )
}

fn met(kind: Kind, without: Trials) -> Met {
    Met {
        kind,
        per_turn: 1.0,
        loads: vec![0x10],
        stores: vec![0x20],
        bases: vec![bandscope_recording::program::Base::Pointer],
        bytes: vec![1],
        change: "an access was moved by 64 bytes".to_owned(),
        without,
    }
}

fn program(states: Vec<Met>) -> Program {
    Program {
        samples: 400,
        hot_loop: Some(HotLoop {
            samples: 380,
            function: Some("push".to_owned()),
            source: Some("/src/ring.c:30".to_owned()),
            listing: vec![
                Line {
                    offset: 0x10,
                    source: Some("/src/ring.c:31".to_owned()),
                    object: String::new(),
                    text: "movzx eax,byte ptr [rdi+8]".to_owned(),
                    per_turn: 1.0,
                },
                Line {
                    offset: 0x20,
                    source: Some("/src/ring.c:31".to_owned()),
                    object: String::new(),
                    text: "mov [rdi+8],al".to_owned(),
                    per_turn: 1.0,
                },
            ],
            as_it_is: trials(2.0),
            ns_per_cycle: vec![0.25; 12],
            states,
            ..HotLoop::default()
        }),
        ..Program::default()
    }
}

#[test]
fn what_costs_is_said_with_its_ratio_and_what_avoids_it() {
    let explained = explain(&program(vec![
        met(Kind::OperandSize, trials(0.5)),
        met(Kind::BaseRegister, trials(1.98)),
    ]));
    let [dear, free] = explained.states.as_slice() else {
        panic!("two states")
    };
    assert_eq!((dear.pair, dear.costs), ("operand-size", Some(true)));
    assert!((dear.ratio.unwrap_or(0.0) - 4.0).abs() < 0.02);
    assert!(
        dear.advice.contains("uint32_t") && dear.meaning.contains("4.00 times as long"),
        "{}",
        dear.meaning
    );
    assert_eq!((free.costs, free.advice), (Some(false), ""));
    assert!(
        explained.verdict.contains("in push (ring.c:30) has 95 %")
            && explained.verdict.contains("without operand-size"),
        "{}",
        explained.verdict
    );
    assert_eq!(
        explained
            .turn
            .and_then(|turn| turn.cycles)
            .map(|cycles| cycles.round()),
        Some(8.0)
    );
    let lines = &explained.hot_loop.as_ref().expect("a loop").listing;
    assert_eq!(lines[0].meets, ["operand-size", "base-register"]);
    assert_eq!(dear.sources, ["/src/ring.c:31"]);
}

#[test]
fn a_loop_of_two_paces_is_told_whether_it_costs_or_not() {
    let at_two_paces = |slow: usize| {
        let times = (0..12).map(|round| if round < slow { 2.0 } else { 0.5 });
        let mut program = program(vec![met(Kind::BaseRegister, trials(0.5))]);
        if let Some(hot) = &mut program.hot_loop {
            hot.as_it_is = Trials::Nanoseconds(times.collect());
        }
        explain(&program).states.remove(0)
    };
    let (mostly_slow, mostly_fast) = (at_two_paces(11), at_two_paces(4));
    let often_slow = at_two_paces(8);
    assert!(
        often_slow.meaning.contains("In most rounds a turn takes "),
        "{}",
        often_slow.meaning
    );
    assert_eq!(
        (mostly_slow.costs, mostly_fast.costs),
        (Some(true), Some(false))
    );
    assert!(
        mostly_fast
            .meaning
            .contains("in others a turn takes up to "),
        "{}",
        mostly_fast.meaning
    );
    assert!(mostly_fast.meaning.contains("at two paces"));
    // One round of twelve is left out of the interval: it may be anything.
    assert!(
        !mostly_slow.meaning.contains("at two paces"),
        "{}",
        mostly_slow.meaning
    );
}

#[test]
fn what_could_not_be_measured_is_no_cost_and_no_acquittal() {
    let explained = explain(&program(vec![met(
        Kind::Aliasing,
        Trials::Missing("signal 11 ended it".to_owned()),
    )]));
    assert_eq!(explained.states[0].costs, None);
    assert!(explained.states[0].meaning.contains("signal 11"));
    assert!(
        explained.verdict.contains("could not be measured"),
        "{}",
        explained.verdict
    );
}

#[test]
fn a_place_that_is_best_by_chance_is_no_finding() {
    let mut program = program(Vec::new());
    let noisy = |seed: u32| {
        Trials::Nanoseconds(
            (0..12)
                .map(|round| 2.0 * (1.0 + 0.1 * f64::from((round * 7 + seed) % 5)))
                .collect(),
        )
    };
    let hot = program.hot_loop.as_mut().expect("a loop");
    hot.placements = (0..8)
        .map(|place| (8 * u64::from(place), noisy(place)))
        .collect();
    assert_eq!(explain(&program).states, []);
    let hot = program.hot_loop.as_mut().expect("a loop");
    hot.placements[3].1 = trials(1.0);
    let explained = explain(&program);
    assert_eq!(
        explained
            .states
            .iter()
            .map(|state| state.pair)
            .collect::<Vec<_>>(),
        ["placement"]
    );
    assert!(
        explained.states[0]
            .change
            .starts_with("the loop begins 24 bytes")
    );
}

#[test]
fn no_loop_is_said_with_the_reason() {
    let program = Program {
        missing: Some("it hardly ever ran: it waits for something".to_owned()),
        ..Program::default()
    };
    assert_eq!(
        explain(&program).verdict,
        "No hot loop was found: it hardly ever ran: it waits for something."
    );
}

#[test]
fn memory_that_was_not_set_again_is_said() {
    let mut program = program(Vec::new());
    assert_eq!(explain(&program).warnings, [""; 0]);
    program.hot_loop.as_mut().expect("a loop").drifts = true;
    assert!(explain(&program).warnings[0].contains("more memory than was set again"));
    program.hot_loop.as_mut().expect("a loop").is_brief = true;
    assert!(explain(&program).warnings[1].contains("left after a few turns"));
}
