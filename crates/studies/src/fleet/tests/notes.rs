//! What a fleet's report says beside its figures.

use super::super::node::family;
use super::*;

#[test]
fn tasks_that_measured_the_same_cpu_are_told() {
    let mut random = Random::new(1);
    let mut of_task = |task: u32, cpu: u32| {
        let mut summary = node(0, None, &mut random);
        summary.run = task.to_string();
        summary.cpus.truncate(1);
        summary.cpus[0].cpu = Some(cpu);
        Node::new(summary, "job")
    };
    let spread = fleet(vec![], (0..4).map(|task| of_task(task, task)).collect());
    assert!(
        !spread.notes.iter().any(|note| note.contains("took it")),
        "{:?}",
        spread.notes
    );
    let piled = fleet(
        vec![],
        (0..4).map(|task| of_task(task, task.min(1))).collect(),
    );
    assert!(
        piled.notes[0].contains("such as 3 on CPU 1 of n00000"),
        "{:?}",
        piled.notes
    );
}

#[test]
fn recordings_of_one_machine_are_told_from_machines() {
    let mut random = Random::new(5);
    let of = |boots: [Option<&str>; 6], random: &mut Random| {
        let nodes = boots.into_iter().zip(0..).map(|(boot, number)| {
            let boot_id = boot.map(str::to_owned);
            Node::new(
                Summary {
                    boot_id,
                    ..node(number, None, random)
                },
                "job",
            )
        });
        fleet(Vec::new(), nodes.collect()).notes.concat()
    };
    let some = of(
        [Some("a"), Some("b"), Some("a"), None, None, Some("a")],
        &mut random,
    );
    assert!(
        some.contains("3 nodes are recordings of one machine"),
        "{some}"
    );
    let none = of(
        [Some("a"), Some("b"), Some("c"), None, None, None],
        &mut random,
    );
    assert!(!none.contains("one machine"), "{none}");
}

#[test]
fn a_node_that_was_hardly_measured_is_left_out() {
    let mut random = Random::new(5);
    let nodes = (0..20).map(|place| {
        let mut one = node(
            place,
            (place == 0).then_some((CULPRITS[0], 0.1)),
            &mut random,
        );
        if place == 0 {
            one.cpus.iter_mut().for_each(|cpu| cpu.measured_s = 0.05);
        }
        Node::new(one, "job")
    });
    let fleet = fleet(Vec::new(), nodes.collect());
    assert_eq!((fleet.nodes.len(), fleet.outliers.len()), (19, 0));
    let note = &fleet.notes[0];
    assert!(
        note.starts_with("Left out: 1 node,") && note.ends_with(": n00000."),
        "{note}"
    );
}

/// A summary of CPUs that lose so much by each of some causes, in one way.
fn losing(name: &str, cpus: &[&[(&str, f64)]]) -> Summary {
    let cpus = (0..).zip(cpus).map(|(cpu, causes)| CpuSummary {
        cpu: Some(cpu),
        measured_s: 10.0,
        lost: causes.iter().map(|one| one.1).sum(),
        losses: vec![loss("other tasks", causes)],
        ..CpuSummary::default()
    });
    let cpus = cpus.collect();
    Summary {
        node: name.into(),
        cpus,
        ..Summary::default()
    }
}

#[test]
fn the_slowest_cpu_may_be_of_a_node_that_is_not_judged() {
    let nodes = (0..9).map(|number| {
        let mut one = losing(&format!("n{number}"), &[&[("cron", 1e-3)]]);
        if number == 8 {
            one = losing("login", &[&[("cron", 0.3)]]);
            one.facts.insert("cpu".into(), "another".into());
        }
        Node::new(one, "job")
    });
    let fleet = fleet(Vec::new(), nodes.collect());
    assert_eq!((&*fleet.cost.node, fleet.cost.usually), ("login", 1e-3));
    assert!(
        fleet.verdict.starts_with("None of 8 nodes"),
        "{}",
        fleet.verdict
    );
}

#[test]
fn a_few_cpus_that_stand_out_are_told_with_their_own_figures() {
    let quiet: &[(&str, f64)] = &[("cron", 1e-3)];
    let nodes = (0..9).map(|number| {
        let mut cpus = vec![quiet; 128];
        if number == 4 {
            cpus[..2].fill(&[("rsync", 0.1)]);
        }
        Node::new(losing(&format!("n{number}"), &cpus), "job")
    });
    let fleet = fleet(Vec::new(), nodes.collect());
    let one = &fleet.outliers[0];
    assert_eq!((one.cpu, one.lost, &*one.by), (None, 0.1, "rsync"));
    assert!((one.excess.more - 0.099).abs() < 1e-9, "{one:?}");
}

#[test]
fn a_cause_that_each_node_calls_otherwise_is_not_what_one_has_more() {
    let names: Vec<String> = (0..20).map(|number| format!("job-{number}")).collect();
    let nodes = names.iter().map(|name| {
        let more = if name == "job-4" { 0.03 } else { 0.0 };
        let causes = [(&**name, 0.05), ("rsync", more)];
        Node::new(losing(name, &[&causes]), "job")
    });
    let fleet = fleet(Vec::new(), nodes.collect());
    assert_eq!(fleet.outliers[0].by, "rsync");
    let nodes = names.iter().zip(0..).map(|(name, number)| {
        let share = if number < 2 { 0.03 } else { 0.001 };
        Node::new(losing(name, &[&[(name, share)]]), "job")
    });
    let fleet = super::super::fleet(Vec::new(), nodes.collect());
    assert_eq!(fleet.outliers[0].by, "job-0");
    assert!(
        fleet.verdict.contains("all by other tasks (job)"),
        "{}",
        fleet.verdict
    );
}

#[test]
fn a_family_is_what_is_left_of_a_name_without_its_numbers() {
    for (cause, kind) in [
        ("job-17", "job"),
        ("w-0-1", "w"),
        ("task:kworker/3:1H", "task:kworker"),
        ("kworker/u8:3", "kworker"),
        ("ksoftirqd/1", "ksoftirqd"),
        ("irq/24-nvme0q1", "irq/24-nvme0q1"),
        ("irq/30-mlx5_2", "irq/30-mlx5"),
        ("kworker/R-mld", "kworker/R-mld"),
        ("python3", "python3"),
        ("-1", "-1"),
    ] {
        assert_eq!((family(cause), family(kind)), (kind, kind));
    }
}

#[test]
fn a_family_of_which_a_node_has_several_has_its_own_name() {
    let of = |parts: &[&[(&str, f64)]]| {
        let quiet = (0..9).map(|number| losing(&format!("n{number}"), &[&[("cron", 1e-3)]]));
        let slow = parts.iter().map(|part| losing("n9", &[part]));
        let nodes = quiet.chain(slow).map(|one| Node::new(one, "job"));
        fleet(Vec::new(), nodes.collect()).outliers[0].by.clone()
    };
    let [plain, numbered] = [("rsync", 0.1), ("rsync-1", 0.001)];
    assert_eq!(of(&[&[plain, numbered]]), "rsync");
    assert_eq!(of(&[&[numbered, plain]]), "rsync");
    assert_eq!(of(&[&[numbered], &[plain]]), "rsync");
    assert_eq!(of(&[&[("rsync-1", 0.1)]]), "rsync-1");
}
