//! What a job costs, and its interval, against brute force.

use super::*;

/// What came of many recordings, for one length of phase and one number of nodes.
#[derive(Debug, Default)]
struct Held {
    truth: f64,
    /// Intervals that hold the truth.
    held: usize,
    /// How far off each slow-down was that was given, as a share of it.
    errors: Vec<f64>,
    extrapolated: usize,
}

impl Held {
    fn median_error(&mut self) -> f64 {
        self.errors.sort_by(f64::total_cmp);
        let middle = self.errors.get(self.errors.len() / 2);
        middle.copied().unwrap_or(f64::NAN)
    }
}

/// Holds so many recordings against brute force, which works this many phases of ranks each time; by length of phase and number of nodes.
fn hold(
    noises: &[Noise],
    seconds: f64,
    settings: &Settings,
    (rounds, work): (usize, usize),
) -> Vec<Vec<Held>> {
    let mut random = Random::new(seconds as u64);
    let truth = |phase_s: f64, nodes: u64, random: &mut Random| Held {
        truth: brute_force(
            noises,
            phase_s * 1e9,
            nodes as usize,
            work / nodes as usize,
            random,
        ),
        ..Held::default()
    };
    let mut held: Vec<Vec<Held>> = Vec::new();
    for &phase_s in &settings.phases_s {
        let cells = settings.nodes.iter();
        held.push(
            cells
                .map(|&nodes| truth(phase_s, nodes, &mut random))
                .collect(),
        );
    }
    for _ in 0..rounds {
        let (followed, curve) = recorded(noises, seconds, &settings.phases_s, &mut random);
        let laps = Laps::new(&[curve]);
        let said = phases(
            (&[followed], &laps),
            &AtOnce::default(),
            settings,
            seconds,
            &|_| String::new(),
            &|| (),
        );
        for (held, said) in held.iter_mut().zip(&said) {
            for (held, cell) in held.iter_mut().zip(&said.cells) {
                let Some(cost) = cell.cost else { continue };
                let off = (1.0 + cost.longer) / (1.0 + held.truth) - 1.0;
                held.errors.push(off.abs());
                held.held += usize::from((cost.interval.0..=cost.interval.1).contains(&held.truth));
                held.extrapolated += usize::from(cell.basis == Basis::Extrapolated);
            }
        }
    }
    held
}

#[test]
fn brute_force_says_the_same() {
    for (noises, seconds, phase_s, nodes) in [
        (&[RARE][..], 60.0, 1e-3, 64),
        (&[FREQUENT], 2.0, 1e-3, 256),
        (&[PERIODIC], 5.0, 1e-3, 16),
        // A short wait for ticks carries next to nothing of what is rare and long.
        (&[TICKS, RARE], 60.0, 1e-4, 64),
    ] {
        let noise = noises[0];
        let settings = Settings {
            nodes: vec![nodes],
            phases_s: vec![phase_s],
        };
        let mut held = hold(noises, seconds, &settings, (10, 300_000))
            .remove(0)
            .remove(0);
        let (given, error) = (held.errors.len(), held.median_error());
        println!(
            "{}: {:.1} %, {} of {given}, {error:.4}",
            noise.name,
            100.0 * held.truth,
            held.held
        );
        assert!(
            given >= 8 && held.held + 2 >= given && error < 0.08,
            "{}: {held:?}",
            noise.name
        );
    }
}

/// The figures of docs/method.md, section 10.5: what a job costs lies between what phases that all begin in one way would.
#[test]
fn a_job_begins_phases_in_both_ways() {
    let mut random = Random::new(4);
    let noise = Noise {
        name: "steps of 2.5 ms",
        every: 1e8,
        length: 2.5e6,
        periodic: false,
        scattered: false,
    };
    let (followed, _) = recorded(&[noise], 400.0, &[1e-4], &mut random);
    let absences = followed[0].absences.lengths();
    let law = law::Law::whole(&[&followed[0].samples[0]], &absences);
    for (nodes, work) in [(16, 2_000_000), (256, 4_000_000)] {
        let truth = brute_force(&[noise], 1e5, nodes, work / nodes, &mut random);
        let [none, all] =
            [0.0, 1.0].map(|carried| law.slowest_carrying(nodes as f64, carried) / 1e5);
        let chain = law.settle(nodes as f64).loss_ns / 1e5;
        println!(
            "{nodes} ranks: {truth:.3}; work alone {none:.3}, time alone {all:.3}, chain {chain:.3}"
        );
        assert!(none < truth && truth < all, "{none} {truth} {all}");
        assert!(
            ((1.0 + chain) / (1.0 + truth) - 1.0).abs() < 0.1,
            "{chain} {truth}"
        );
    }
}

/// One node is like either CPU, of which one is quiet; no figure of few nodes exceeds its bound.
#[test]
fn fewer_nodes_than_cpus_that_differ_are_like_any_of_them() {
    let mut random = Random::new(9);
    let cpus = [FREQUENT, TICKS, TICKS, TICKS];
    let all = cpus.map(|noise| recorded(&[noise], 5.0, &[1e-3], &mut random));
    let (followed, curves): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let settings = Settings {
        nodes: vec![1, 2, 4],
        phases_s: vec![1e-3],
    };
    let laps = Laps::new(&curves);
    let name = |_: Without| String::new();
    let of = (&followed[..], &laps);
    let said = phases(of, &AtOnce::default(), &settings, 20.0, &name, &|| ());
    let alone = cells::Of::new(of, (0, 1e6), 20.0, &name).alone();
    let cost = |place: usize| said[0].cells[place].cost.unwrap();
    assert!(
        (cost(0).longer - alone).abs() < 1e-6,
        "{:?} {alone}",
        cost(0)
    );
    for place in 0..3 {
        assert!(
            cost(place).at_most >= cost(place).longer,
            "{:?}",
            cost(place)
        );
    }
    assert!(cost(0).longer < cost(1).longer && cost(1).longer < cost(2).longer);
}

/// The table of docs/scale.md.
#[test]
#[ignore = "takes minutes: .ci/full scale"]
fn intervals_hold_what_brute_force_finds() {
    println!(
        "noise, recording, phase, nodes, longer by brute force, intervals that hold it of those given, extrapolated, median error of the slow-down"
    );
    let all: &[f64] = &[1e-4, 1e-3, 1e-2];
    // Of rare noise the recordings differ most.
    for (noises, seconds, phases_s, rounds) in [
        (&[PERIODIC][..], 10.0, all, 100),
        (&[RARE], 60.0, all, 300),
        (&[RARE], 600.0, &all[1..], 300),
        (&[FREQUENT], 10.0, all, 100),
        (&[TICKS, RARE], 60.0, &all[..1], 100),
    ] {
        let names: Vec<&str> = noises.iter().map(|noise| noise.name).collect();
        let names = names.join(", ");
        let settings = Settings {
            nodes: vec![1, 16, 256, 2048, 10_000],
            phases_s: phases_s.to_vec(),
        };
        let held = hold(noises, seconds, &settings, (rounds, 100_000_000));
        for (held, phase_s) in held.into_iter().zip(&settings.phases_s) {
            for (mut held, nodes) in held.into_iter().zip(&settings.nodes) {
                let (given, error) = (held.errors.len(), held.median_error());
                println!(
                    "{names:18} {seconds} s {:5} us {nodes:5} {:9.4} {:3} of {given:3} {:3} {error:.3}",
                    phase_s * 1e6,
                    held.truth,
                    held.held,
                    held.extrapolated
                );
            }
        }
    }
}
