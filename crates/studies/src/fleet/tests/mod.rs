//! Nodes that are drawn, or taken from recordings of a real machine; a few of them slower for a known cause.

mod at_once;
mod notes;

use super::{Fleet, Node, fleet};
use bandscope_recording::summary::{CpuSummary, LossSummary, Summary};
use bandscope_statistics::random::Random;
use std::collections::BTreeMap;

/// What healthy CPUs lose and by what: the median share, and how the logarithm of it scatters from node to node and from CPU to CPU.
const HEALTHY: [(&str, &str, f64, f64, f64); 5] = [
    ("hypervisor", "KVM", 2.5e-3, 0.25, 0.2),
    ("timer tick", "", 1.2e-3, 0.1, 0.05),
    ("slower pace", "cause not known", 1.0e-3, 0.3, 0.3),
    ("other tasks", "kworker", 3.0e-4, 0.5, 0.4),
    ("interrupts", "virtio0", 2.0e-4, 0.5, 0.4),
];
const CPUS: u32 = 2;

/// What is wrong with a node: how it loses more, by what, and whether on one CPU only.
type Culprit = (&'static str, &'static str, bool);
const CULPRITS: [Culprit; 5] = [
    ("other tasks", "rsync", false),
    ("hypervisor", "KVM", true),
    ("slower pace", "lower frequency", false),
    ("interrupts", "eth0", true),
    ("timer tick", "", false),
];

/// A loss of one CPU.
fn loss(loss: &str, causes: &[(&str, f64)]) -> LossSummary {
    LossSummary {
        loss: loss.into(),
        share: causes.iter().map(|one| one.1).sum(),
        error: Some(1e-4),
        causes: causes
            .iter()
            .filter(|one| !one.0.is_empty())
            .map(|one| (one.0.into(), one.1))
            .collect(),
    }
}

fn node(number: usize, more: Option<(Culprit, f64)>, random: &mut Random) -> Summary {
    let mut facts: BTreeMap<String, String> =
        [("cpu", "EPYC"), ("kernel", "6.12"), ("microcode", "0x1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    // A setting that slows nothing, of one node in ten; and one that is behind a culprit.
    if random.unit() < 0.1 {
        facts.insert("memory".into(), "512 GiB".into());
    }
    if let Some((("timer tick", ..), _)) = more {
        facts.insert("boot: nohz=off".into(), "yes".into());
    }
    let own = HEALTHY.map(|(_, _, median, spread, _)| median * (spread * random.normal()).exp());
    let cpus = (0..CPUS).map(|cpu| {
        let losses = HEALTHY
            .iter()
            .zip(own)
            .map(|(&(way, by, _, _, spread), own)| {
                let usual = own * (spread * random.normal()).exp();
                let extra =
                    more.filter(|((of, _, is_one), _)| *of == way && !(*is_one && cpu == 0));
                match extra {
                    Some(((_, name, _), share)) if name == by => loss(way, &[(by, usual + share)]),
                    Some(((_, name, _), share)) => loss(way, &[(name, share), (by, usual)]),
                    None => loss(way, &[(by, usual)]),
                }
            });
        let losses: Vec<LossSummary> = losses.collect();
        CpuSummary {
            cpu: Some(cpu),
            measured_s: 10.0,
            lost: losses.iter().map(|one| one.share).sum(),
            lost_error: Some(1e-4),
            losses,
            ..CpuSummary::default()
        }
    });
    let cpus = cpus.collect();
    Summary {
        node: format!("n{number:05}"),
        facts,
        cpus,
        ..Summary::default()
    }
}

/// A fleet, and what is wrong with each node.
fn drawn(number: usize, sick: f64, seed: u64) -> (Fleet, Vec<Option<Culprit>>) {
    let mut random = Random::new(seed);
    let (mut nodes, mut truth) = (Vec::new(), Vec::new());
    for place in 0..number {
        let culprit = CULPRITS[random.below(CULPRITS.len() as u64) as usize];
        let more = 0.005 + 0.025 * random.unit();
        let more = (random.unit() < sick).then_some((culprit, more));
        truth.push(more.map(|more| more.0));
        nodes.push(Node::new(node(place, more, &mut random), "job"));
    }
    (fleet(vec!["job".into()], nodes), truth)
}

#[test]
fn culprits_among_ten_thousand_are_found_by_their_cause() {
    let (mut sick, mut found, mut right, mut wrong, mut healthy) = (0, 0, 0, 0, 0);
    for seed in 0..3 {
        let (fleet, truth) = drawn(10_000, 0.01, seed);
        let said: BTreeMap<&str, _> = fleet.outliers.iter().map(|one| (&*one.node, one)).collect();
        for (row, truth) in fleet.nodes.iter().zip(&truth) {
            match (truth, said.get(&*row.node)) {
                (Some((loss, by, is_one)), one) => {
                    sick += 1;
                    found += usize::from(one.is_some());
                    right += usize::from(one.is_some_and(|one| {
                        (&*one.excess.loss, &*one.by, one.cpu.is_some()) == (*loss, *by, *is_one)
                    }));
                }
                (None, one) => {
                    healthy += 1;
                    wrong += usize::from(one.is_some());
                }
            }
        }
    }
    println!("{found} of {sick} found, {right} with the cause; {wrong} of {healthy} others");
    assert!(found * 100 >= sick * 99, "{found} of {sick}");
    assert!(right * 100 >= found * 98, "{right} of {found}");
    assert!(wrong * 1000 <= healthy, "{wrong} of {healthy}");
}

/// Forty recordings of 2 s of both CPUs of an idle virtual machine (AMD EPYC, Zen 4, KVM), one after the other, as summaries of nodes. Its host is a noisy one: its CPUs
/// lose 1.6 to 7.4 % each time.
const REAL: &str = include_str!("nodes.jsonl");

/// A fleet of a real machine's recordings under other names; one node in a hundred loses more by a task.
fn of_real_recordings(number: usize, sick: f64, seed: u64) -> (Fleet, Vec<Option<f64>>) {
    let mut random = Random::new(seed);
    let real: Vec<Summary> = REAL
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (mut nodes, mut truth) = (Vec::new(), Vec::new());
    for place in 0..number {
        let mut one = real[random.below(real.len() as u64) as usize].clone();
        one.node = format!("n{place:05}");
        let more = 0.005 + 0.025 * random.unit();
        let more = (random.unit() < sick).then_some(more);
        for cpu in &mut one.cpus {
            cpu.lost += more.unwrap_or(0.0);
            let tasks = cpu
                .losses
                .iter_mut()
                .find(|loss| loss.loss == "other tasks");
            let tasks = tasks.unwrap();
            tasks.share += more.unwrap_or(0.0);
            tasks.causes.push(("rsync".into(), more.unwrap_or(0.0)));
        }
        truth.push(more);
        nodes.push(Node::new(one, "job"));
    }
    (fleet(vec!["job".into()], nodes), truth)
}

/// What can be found is bounded by how the machine itself scatters. That what is said is true is not.
#[test]
fn of_a_noisy_machine_less_is_found_and_hardly_anything_wrong() {
    let (fleet, truth) = of_real_recordings(10_000, 0.01, 1);
    let said: BTreeMap<&str, _> = fleet.outliers.iter().map(|one| (&*one.node, one)).collect();
    let (mut wrong, mut healthy) = (0, 0);
    let mut found: BTreeMap<u8, [usize; 2]> = BTreeMap::new();
    for (row, truth) in fleet.nodes.iter().zip(&truth) {
        let one = said.get(&*row.node);
        match truth {
            Some(more) => {
                let [by_name, all] = found.entry((more * 200.0) as u8).or_default();
                *all += 1;
                *by_name += usize::from(one.is_some_and(|one| one.by == "rsync"));
            }
            None => {
                healthy += 1;
                wrong += usize::from(one.is_some());
            }
        }
    }
    println!("found, by half points of excess: {found:?}; {wrong} of {healthy} others");
    assert!(wrong * 1000 <= healthy, "{wrong} of {healthy}");
    let [by_name, all] = found[&5];
    assert!(by_name * 10 >= all * 8, "{by_name} of {all}");
}

#[test]
fn what_culprits_have_in_common_is_told_and_nothing_else() {
    let (fleet, truth) = drawn(2_000, 0.02, 7);
    let ticks = truth.iter().flatten().filter(|one| one.0 == "timer tick");
    assert!(ticks.count() > 2);
    let told: Vec<(&str, &str)> = fleet
        .in_common
        .iter()
        .map(|one| (&*one.loss, &*one.fact))
        .collect();
    assert_eq!(told, [("timer tick", "boot: nohz=off")]);
    assert_eq!(fleet.in_common[0].others_with, 0);
}

#[test]
fn a_healthy_fleet_has_no_outlier_and_a_small_one_is_not_judged() {
    for seed in 0..20 {
        let (fleet, _) = drawn(50, 0.0, seed);
        assert_eq!(fleet.outliers, [], "{}", fleet.verdict);
    }
    let (fleet, _) = drawn(4, 1.0, 1);
    assert!(!fleet.groups[0].judged);
    assert!(
        fleet.verdict.starts_with("4 nodes: too few"),
        "{}",
        fleet.verdict
    );
}

/// A fleet of so many nodes that scatter, of which the first loses `more` by a task on all CPUs.
fn with_one(number: usize, more: f64) -> Fleet {
    let mut random = Random::new(11);
    let nodes = (0..number).map(|place| {
        let culprit = (place == 0 && more > 0.0).then_some((CULPRITS[0], more));
        Node::new(node(place, culprit, &mut random), "job")
    });
    fleet(Vec::new(), nodes.collect())
}

#[test]
fn a_small_fleet_says_how_much_it_would_notice() {
    let detects = |number| {
        let fleet = with_one(number, 0.0);
        let tasks = fleet.groups[0]
            .losses
            .iter()
            .find(|one| one.loss == "other tasks");
        tasks.unwrap().detects
    };
    // Half as much more: of few nodes one that is slow moves the median and the spread itself.
    for number in [20, 50, 200] {
        let found = with_one(number, 1.5 * detects(number).unwrap());
        assert_eq!(found.outliers.len(), 1, "{number}: {:?}", detects(number));
        assert_eq!(found.outliers[0].by, "rsync");
    }
    assert!(detects(12) > detects(50), "{:?}", detects(12));
}

#[test]
fn the_cpu_is_named_where_it_is_one_alone_with_what_it_loses() {
    let cpu = |cpu: u32, host: f64, task: f64| CpuSummary {
        cpu: Some(cpu),
        measured_s: 10.0,
        lost: host + task,
        losses: vec![
            loss("hypervisor", &[("KVM", host)]),
            loss("other tasks", &[("rsync", task)]),
        ],
        ..CpuSummary::default()
    };
    let of = |tasks: &dyn Fn(u32) -> f64| {
        let nodes = (0..30).map(|place| {
            // The first CPU loses most, on every node.
            let task = |number: u32| if place == 4 { tasks(number) } else { 0.0 };
            let cpus = (0..16)
                .map(|number| cpu(number, if number == 0 { 0.1 } else { 0.0 }, task(number)));
            let summary = Summary {
                node: format!("n{place}"),
                cpus: cpus.collect(),
                ..Summary::default()
            };
            Node::new(summary, "job")
        });
        fleet(Vec::new(), nodes.collect()).outliers
    };
    let alone = of(&|cpu| if cpu == 3 { 0.05 } else { 0.0 });
    assert_eq!((alone[0].cpu, alone[0].lost), (Some(3), 0.05));
    let three = of(&|cpu| if [2, 5, 9].contains(&cpu) { 0.1 } else { 0.0 });
    assert_eq!(three[0].cpu, None);
}

#[test]
fn tasks_of_one_node_are_one_node() {
    let mut random = Random::new(3);
    let parts: Vec<Node> = (0..12)
        .map(|place| Node::new(node(place / 2, None, &mut random), "job"))
        .collect();
    let fleet = fleet(Vec::new(), parts);
    assert_eq!(fleet.nodes.len(), 6);
    assert_eq!(fleet.groups[0].cpus, 24);
    assert!(fleet.groups[0].judged);
}

#[test]
fn each_node_has_its_cpus_and_what_exceeds_the_median_most() {
    let (fleet, truth) = drawn(500, 0.02, 7);
    for (row, truth) in fleet.nodes.iter().zip(truth) {
        let detail = &row.detail;
        let cpus: Vec<_> = detail.cpus.iter().map(|one| one.0).collect();
        assert_eq!(cpus, [Some(0), Some(1)]);
        let mean = detail.cpus.iter().map(|one| one.1).sum::<f32>() / 2.0;
        assert!((f64::from(mean) - row.lost).abs() < 1e-6, "{row:?}");
        let sum: f64 = detail.losses.iter().map(|one| one.1).sum();
        assert!((sum - row.lost).abs() < 1e-9, "{row:?}");
        let told = (&*detail.excess.loss, &*detail.by);
        match truth.filter(|_| row.stands_out) {
            Some((loss, by, _)) => assert_eq!(told, (loss, by)),
            None => assert!(detail.excess.more < 0.03, "{row:?}"),
        }
        let by_setting = truth.is_some_and(|culprit| culprit.0 == "timer tick");
        assert_eq!(!detail.differs.is_empty(), by_setting, "{row:?}");
    }
    for one in &fleet.outliers {
        let row = fleet.nodes.iter().find(|row| row.node == one.node);
        assert_eq!(row.map(|row| &row.detail.differs), Some(&one.differs));
    }
}

#[test]
fn of_tasks_on_one_cpu_the_map_has_the_one_that_lost_most() {
    let part = |lost: f64, cpu: Option<u32>| {
        let measured = CpuSummary {
            cpu,
            lost,
            ..CpuSummary::default()
        };
        let summary = Summary {
            node: "n1".into(),
            cpus: vec![measured],
            ..Summary::default()
        };
        Node::new(summary, "job")
    };
    let parts = [
        (0.1, Some(3)),
        (0.3, Some(3)),
        (0.2, Some(1)),
        (0.4, None),
        (0.1, None),
    ];
    let parts = parts.map(|(lost, cpu)| part(lost, cpu));
    let fleet = fleet(Vec::new(), parts.into());
    let cpus = &fleet.nodes[0].detail.cpus;
    assert_eq!(cpus, &[(None, 0.4), (Some(1), 0.2), (Some(3), 0.3)]);
    // Tasks of unknown CPUs may have had one each: nothing is said of them.
    let note = &fleet.notes[0];
    assert!(note.contains("such as 2 on CPU 3 of n1"), "{note}");
}
