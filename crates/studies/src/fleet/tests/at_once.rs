//! Nodes whose counters start anywhere, run at rates of their own, and are compared as messages allow.

use super::super::{AtOnce, Node, at_once::at_once};
use bandscope_recording::job_clock::{JobClock, Reading};
use bandscope_recording::summary::{CpuSummary, LongGap, Summary, SummaryClock};
use bandscope_statistics::random::Random;

/// A counter: what it reads when the first task's clock reads 0, and its rate.
#[derive(Clone, Copy, Debug)]
struct Counter {
    origin: u64,
    ticks_per_ns: f64,
}

impl Counter {
    /// Of a machine of some GHz that was booted at some time; its rate is off by up to 50 parts per million, as crystals are.
    fn draw(random: &mut Random) -> Counter {
        Counter {
            origin: random.below(1 << 50),
            ticks_per_ns: 2.6 * (1.0 + 1e-4 * (random.unit() - 0.5)),
        }
    }

    fn ticks(self, ns: f64) -> u64 {
        self.origin + (ns * self.ticks_per_ns) as u64
    }

    /// A message that goes there and back for `ns` and `more` that scatters: the first task answered anywhere between.
    fn reading(self, at_ns: f64, ns: f64, random: &mut Random) -> Reading {
        let trips = (0..200).map(|_| {
            let (there, back) = (ns - random.unit().ln() * ns, ns - random.unit().ln() * ns);
            (there, back)
        });
        let (there, back) = trips
            .min_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)))
            .unwrap();
        Reading {
            ticks: self.ticks(at_ns + (there + back) / 2.0),
            reference_ns: (at_ns + there) as i64,
            own_ns: 0,
            within_ns: (there + back) / 2.0,
        }
    }

    fn job_clock(self, from_ns: f64, to_ns: f64, random: &mut Random) -> JobClock {
        JobClock {
            reference: "n0 1".into(),
            readings: [from_ns, to_ns].map(|at| self.reading(at, 5e3, random)),
            ..JobClock::default()
        }
    }
}

#[test]
fn a_clock_is_within_its_bound_through_drift() {
    let mut random = Random::new(1);
    let (mut within, mut error_ns, mut bound_ns) = (0, 0.0_f64, 0.0_f64);
    for _ in 0..1000 {
        let counter = Counter::draw(&mut random);
        let clock = counter.job_clock(1e9, 61e9, &mut random);
        let at = 1e9 + 6e10 * random.unit();
        let (said, bound) = clock.at(counter.ticks(at));
        within += usize::from((said - at).abs() <= bound + 1.0);
        error_ns = error_ns.max((said - at).abs());
        bound_ns = bound_ns.max(bound);
    }
    println!(
        "{within} of 1000 within the bound; error {error_ns:.0} ns and bound {bound_ns:.0} ns at most"
    );
    assert_eq!(within, 1000);
    assert!(error_ns < 20e3 && bound_ns < 20e3);
}

const SECONDS: f64 = 10.0;

/// A node that began to record at some time, with its own gaps and `common` ones: when each begins, by the first task's clock.
fn summary(number: usize, own: usize, common: &[f64], random: &mut Random) -> Summary {
    let counter = Counter::draw(random);
    let began_ns = 2e9 + 1e9 * random.unit();
    let common = common
        .iter()
        .map(|at_ns| ((at_ns - began_ns) / 1e9, "task:backup"));
    let own: Vec<(f64, &str)> = (0..own)
        .map(|place| (SECONDS * random.unit(), ["host", "task:cron"][place % 2]))
        .collect();
    let longest = common.chain(own).map(|(at_s, cause)| LongGap {
        at_s,
        ns: 2e5 + 1e5 * random.unit(),
        cause: cause.into(),
    });
    let longest = longest.collect();
    Summary {
        node: format!("n{number:02}"),
        clock: Some(SummaryClock {
            origin_ticks: counter.ticks(began_ns),
            ticks_per_ns: counter.ticks_per_ns,
        }),
        cpus: vec![CpuSummary {
            measured_s: SECONDS,
            longest,
            ..CpuSummary::default()
        }],
        job_clock: Some(counter.job_clock(1e9, 20e9, random)),
        ..Summary::default()
    }
}

fn node(number: usize, own: usize, common: &[f64], random: &mut Random) -> Node {
    Node::new(summary(number, own, common, random), "job")
}

fn said(nodes: usize, own: usize, common: &dyn Fn(usize) -> Vec<f64>, seed: u64) -> AtOnce {
    let mut random = Random::new(seed);
    let nodes: Vec<Node> = (0..nodes)
        .map(|number| {
            node(
                number + 1000 * seed as usize,
                own,
                &common(number),
                &mut random,
            )
        })
        .collect();
    at_once(&nodes).unwrap()
}

#[test]
fn what_hits_several_nodes_is_told_by_its_cause() {
    let backup: Vec<f64> = (0..6)
        .map(|number| 4e9 + 1.1e9 * f64::from(number))
        .collect();
    let on_half = |number: usize| match number % 2 {
        0 => backup.clone(),
        _ => Vec::new(),
    };
    for seed in 0..20 {
        let of = said(20, 20, &on_half, seed);
        assert_eq!(of.nodes, 20);
        assert!((of.common_s - 9.0).abs() < 0.3, "{of:?}");
        let [one] = &of.moments[..] else {
            panic!("{of:?}")
        };
        assert_eq!((&*one.cause, one.number), ("task:backup", 6), "{of:?}");
        assert!((10..=12).contains(&one.nodes), "{of:?}");
        assert!(one.by_chance < 0.01, "{of:?}");
    }
    // Two nodes are told by how often they meet.
    let of = said(2, 10, &|_| backup.clone(), 7);
    assert_eq!(
        (of.moments[0].nodes, of.moments[0].number),
        (2, 6),
        "{of:?}"
    );
}

#[test]
fn what_each_node_numbers_otherwise_is_one_cause() {
    let backup: Vec<f64> = (0..6)
        .map(|number| 4e9 + 1.1e9 * f64::from(number))
        .collect();
    let of = |end: &dyn Fn(usize) -> String| {
        let mut random = Random::new(1);
        let nodes = (0..4).map(|number| {
            let mut one = summary(number, 4, &backup, &mut random);
            for gap in one.cpus[0].longest.iter_mut().take(backup.len()) {
                gap.cause += &end(number);
            }
            Node::new(one, "job")
        });
        let of = at_once(&nodes.collect::<Vec<_>>()).unwrap();
        (of.moments[0].cause.clone(), of.moments[0].nodes)
    };
    let [other, same] = ["task:backup", "task:backup-7"].map(str::to_owned);
    assert_eq!(of(&|number| format!("-{number}")), (other, 4));
    assert_eq!(of(&|_| "-7".to_owned()), (same, 4));
}

#[test]
fn nodes_that_lose_independently_seldom_seem_to_lose_at_once() {
    let mut wrong = 0;
    for seed in 0..300 {
        let of = said([2, 20, 200][seed as usize % 3], 20, &|_| Vec::new(), seed);
        wrong += usize::from(!of.moments.is_empty());
    }
    println!("{wrong} of 300 fleets of independent nodes are said to lose at once");
    assert!(wrong <= 3, "{wrong}");
}

#[test]
fn clocks_of_other_jobs_and_of_none_are_not_compared() {
    let mut random = Random::new(1);
    let none = Node::new(Summary::default(), "job");
    let one = node(1, 3, &[], &mut random);
    assert_eq!(at_once(&[none.clone(), one.clone()]), None);
    let mut other = node(2, 3, &[], &mut random);
    assert_eq!(at_once(&[one.clone(), other.clone()]).unwrap().nodes, 2);
    let counter = Counter::draw(&mut random);
    let mut clock = counter.job_clock(1e9, 2e9, &mut random);
    clock.reference = "another job".into();
    let summary = Summary {
        clock: Some(SummaryClock {
            origin_ticks: 1,
            ticks_per_ns: 1.0,
        }),
        job_clock: Some(clock),
        cpus: vec![CpuSummary::default()],
        ..Summary::default()
    };
    other.timed = Node::new(summary, "job").timed;
    assert_eq!(at_once(&[one, other]), None);
}

/// Nodes that each lose 15 ms in 150 ms, from a time of its own on: two meet always or never.
#[test]
fn gaps_of_one_period_are_not_taken_for_many_moments() {
    let mut wrong = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let nodes = (0..2 + seed as usize % 3).map(|number| {
            let first = 3e9 + 1.5e8 * random.unit();
            let gaps: Vec<f64> = (0..60).map(|gap| first + 1.5e8 * f64::from(gap)).collect();
            let mut one = summary(number, 4, &gaps, &mut random);
            (one.cpus[0].longest.iter_mut()).for_each(|gap| gap.ns = 1.5e7);
            Node::new(one, "job")
        });
        let of = at_once(&nodes.collect::<Vec<_>>()).unwrap();
        wrong += usize::from(!of.moments.is_empty());
    }
    println!("{wrong} of 200 fleets of periodic nodes are said to lose at once");
    assert!(wrong <= 4, "{wrong}");
}
