//! What a fleet's report says beside its figures.

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
    assert!(
        fleet.notes[0].starts_with("Left out: 1 node,"),
        "{:?}",
        fleet.notes
    );
}
