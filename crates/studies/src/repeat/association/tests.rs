use super::*;

const LOSS: Loss = Loss {
    seconds: 1.0,
    cycles: None,
    cycles_per_instruction: None,
};

fn run(counts: &[(&str, f64)]) -> Run {
    let counts = counts
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    Run {
        counts: counts.collect(),
        wall_s: 2.0,
        ..Run::default()
    }
}

#[test]
fn a_counter_that_had_not_its_turn_is_not_0() {
    let runs = [
        run(&[
            ("counter:cycles", 5.0),
            ("counter:instructions", 10.0),
            ("memory:KiB", 7.0),
        ]),
        run(&[("irq:eth0", 3.0)]),
    ];
    let groups = [runs.iter().collect(), runs.iter().collect()];
    let of = |name: &str, per| columns(&groups, name, per)[0].clone();
    assert_eq!(of("counter:cycles", Per::Run), [5.0]);
    assert_eq!(of("irq:eth0", Per::Run), [0.0, 3.0]);
    assert_eq!(of("irq:eth0", Per::Second), [0.0, 1.5]);
    assert_eq!(of("irq:eth0", Per::Instruction), [0.0]);
    // Neither the metric nor a level: two counters, two times.
    let all = ranked(&groups, "irq:eth0").into_iter();
    assert_eq!(all.filter(|one| one.per == Per::Second).count(), 4);
}

#[test]
fn interrupts_of_the_published_sort_are_a_lead_only_if_they_came_more_often() {
    // 719 more interrupts for 5.7e9 cycles at 3 GHz: 2.6 ms each.
    let loss = Loss {
        seconds: 5.7e9 / 3e9,
        ..LOSS
    };
    let of = |often| budget("irq:eth0", 719.0, often, &loss);
    assert_eq!(of(true).0, Verdict::Lead);
    assert!((of(true).1.unwrap() - 2.64e-3).abs() < 1e-5);
    assert_eq!(of(false).0, Verdict::CannotPay);
}

#[test]
fn time_is_its_own_cost_and_what_may_pay_is_a_lead() {
    let of = |name, more| budget(name, more, true, &LOSS).0;
    assert_eq!(of("user", 0.9), Verdict::Pays);
    assert_eq!(of("system", 0.1), Verdict::CannotPay);
    assert_eq!(of("faults:minor", 1e5), Verdict::Lead);
    assert_eq!(of("faults:major", 1e5), Verdict::Pays);
    assert_eq!(of("counter:branch-misses", 1e3), Verdict::CannotPay);
    assert_eq!(of("counter:something", 1e3), Verdict::Lead);
    assert_eq!(
        budget("irq:eth0", -3.0, true, &LOSS),
        (Verdict::CannotPay, None)
    );
}

#[test]
fn a_lower_clock_is_a_lead_and_a_level_is_acquitted_of_nothing() {
    let of = |name, more| budget(name, more, true, &LOSS);
    assert_eq!(of("frequency:MHz", -900.0), (Verdict::Lead, None));
    assert_eq!(of("frequency:MHz", 900.0), (Verdict::Changed, None));
    assert_eq!(of("noise:share", 0.1), (Verdict::Lead, None));
    assert_eq!(of("memory:KiB", -1.0), (Verdict::Changed, None));
    assert_eq!(of("energy:package-0", -1.0), (Verdict::Changed, None));
}

#[test]
fn counters_pay_for_the_cycles_that_were_counted() {
    let loss = Loss {
        cycles: Some(1e9),
        cycles_per_instruction: Some(0.5),
        ..LOSS
    };
    let of = |name, more, loss| budget(name, more, false, &loss).0;
    for outcome in ["counter:cycles", "counter:ref-cycles"] {
        assert_eq!(of(outcome, -1e9, loss), Verdict::Outcome);
    }
    assert_eq!(of("counter:instructions", 1e9, loss), Verdict::Pays);
    assert_eq!(of("counter:instructions", 9e8, loss), Verdict::CannotPay);
    // Of 10 to 30 cycles each: too few for a second at 4.5 GHz, and enough for 1e9 cycles.
    assert_eq!(of("counter:branch-misses", 6e7, LOSS), Verdict::CannotPay);
    assert_eq!(of("counter:branch-misses", 6e7, loss), Verdict::Pays);
    let none = Loss {
        cycles: Some(0.0),
        ..loss
    };
    assert_eq!(of("counter:branch-misses", 6e7, none), Verdict::CannotPay);
}

#[test]
fn a_loss_that_may_be_an_accident_is_none() {
    let times = |longer: f64| (0..20).map(|k| longer + 1e-4 * f64::from(k)).collect();
    let of = |longer: f64| more(&[times(1.0), times(longer)]);
    assert!((of(1.05).unwrap() - 0.05).abs() < 1e-9);
    assert_eq!(of(1.005), None);
    assert_eq!(more(&[vec![1.0, 1.1], vec![1.2, 1.3]]), None);
}
