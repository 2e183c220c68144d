//! Which cause costs most on more nodes than were recorded, against brute force.

use super::*;

/// Which cause costs most on more nodes than a recording has seen: two kinds of noise, of which one costs most on few nodes.
#[derive(Debug, Default)]
struct Named {
    /// What taking each away saves, by brute force.
    truth: [f64; 2],
    right: usize,
    wrong: usize,
    /// Recordings of which no cause was named, and of which the cost was refused.
    none: usize,
    refused: usize,
    /// Recordings whose cost was extrapolated.
    extrapolated: usize,
}

fn name_causes(noises: [Noise; 2], seconds: f64, phase_s: f64, nodes: u64, rounds: usize) -> Named {
    let mut random = Random::new(seconds as u64);
    let mut truth = |noises: &[Noise]| {
        let phases = 20_000_000 / nodes as usize;
        brute_force(noises, phase_s * 1e9, nodes as usize, phases, &mut random)
    };
    let whole = truth(&noises);
    let mut named = Named {
        truth: [whole - truth(&noises[1..]), whole - truth(&noises[..1])],
        ..Named::default()
    };
    let most = usize::from(named.truth[1] > named.truth[0]);
    let settings = Settings {
        nodes: vec![nodes],
        phases_s: vec![phase_s],
    };
    let name = |without: Without| match without {
        Without::Cause(cause) => noises[cause].name.to_owned(),
        _ => String::new(),
    };
    for _ in 0..rounds {
        let (followed, _) = recorded(&noises, seconds, &settings.phases_s, &mut random);
        let cell = phases(
            (&[followed], &Laps::default()),
            &AtOnce::default(),
            &settings,
            seconds,
            &name,
            &|| (),
        );
        let cell = &cell[0].cells[0];
        named.extrapolated += usize::from(cell.basis == Basis::Extrapolated);
        let first = cell.from.first().filter(|first| first.less.is_some());
        match first {
            _ if cell.cost.is_none() => named.refused += 1,
            Some(first) if first.name == noises[most].name => named.right += 1,
            Some(_) => named.wrong += 1,
            None => named.none += 1,
        }
    }
    named
}

const OFTEN: Noise = Noise {
    name: "25 us, 1,000 a second",
    ..FREQUENT
};
const SELDOM: Noise = Noise {
    name: "200 us, 5 a second",
    every: 2e8,
    length: 2e5,
    periodic: false,
    scattered: true,
};

/// Costs less than the frequent one on any number of nodes.
const SHORT: Noise = Noise {
    name: "40 us, 5 a second",
    length: 4e4,
    ..SELDOM
};

/// Nodes that no recording of two minutes has seen with phases of 1 ms.
const MORE_NODES: u64 = 262_144;

fn causes_are_named(rounds: usize) {
    for (noises, most) in [([OFTEN, SELDOM], 1), ([OFTEN, SHORT], 0)] {
        let named = name_causes(noises, 120.0, 1e-3, MORE_NODES, rounds);
        println!("{}; {}: {named:?}", noises[0].name, noises[1].name);
        assert!(named.truth[most] > named.truth[1 - most], "{named:?}");
        assert_eq!(named.extrapolated + named.refused, rounds, "{named:?}");
        // Where the interval of a tail leaves too much open nothing is named.
        assert!(named.refused * 4 <= rounds, "{named:?}");
        assert!(
            named.right * 10 >= (rounds - named.refused) * 9,
            "{named:?}"
        );
    }
}

#[test]
fn causes_beyond_what_was_seen_are_those_of_brute_force() {
    causes_are_named(3);
}

/// The table of docs/scale.md.
#[test]
#[ignore = "takes minutes: .ci/full scale"]
fn twenty_recordings_name_the_cause() {
    causes_are_named(20);
}
