//! The scenarios that show on several CPUs only.

use super::examples::{Seen, example};
use super::{By, Entry, Rhythm, Setup, nothing, times};
use crate::disturbances::shared::{Coupled, Role, Steal};
use crate::parameters::{JITTER, hz, is_on, ratio, span, switch, time};
use fastrand::Rng;

/// The same absences on every CPU.
pub(super) const HOST_STEAL: Entry = Entry {
    name: "host-steal",
    description: "the host takes all CPUs at once, at random times or with poisson=0 at regular ones; each begins up to `skew` later",
    examples: &[
        example("synchronous-gaps", Seen::OnSeveralCpus),
        example("stolen-time", Seen::Traced),
    ],
    parameters: &[
        hz(20.0),
        time("cost", 200e-6),
        time("skew", 2e-6),
        JITTER,
        switch("poisson", 1.0),
    ],
    settings: nothing,
    disturbance: Some(|v, setup| {
        let common = Setup {
            random: setup.shared.clone(),
            ..setup.clone()
        };
        Box::new(Steal {
            times: times(v, &common, 0.0),
            cost: v["cost"] * setup.scale,
            skew: v["skew"] * setup.scale,
            last: 0.0,
            random: setup.random.clone(),
        })
    }),
    rhythm: Rhythm::Hz,
    by: By::Host,
};

/// Pairs of CPUs, one of which follows the other.
pub(super) const CORE_COUPLING: Entry = Entry {
    name: "core-coupling",
    description: "an odd CPU slows down by `ratio`, `lag` after the even one before it slows down by `leader`; with away=1 that one is away instead",
    examples: &[example("core-coupling", Seen::OnAPair)],
    parameters: &[
        ratio("ratio", 1.25),
        ratio("leader", 1.1),
        span("dwell", 20e-3),
        time("lag", 50e-6),
        switch("away", 0.0),
    ],
    settings: nothing,
    disturbance: Some(|v, setup| {
        // One generator a pair of CPUs.
        let seed = setup.shared.clone().u64(..);
        let role = match (setup.cpu.is_multiple_of(2), is_on(v, "away")) {
            (true, true) => Role::Away,
            (true, false) => Role::Leads,
            (false, _) => Role::Follows,
        };
        Box::new(Coupled {
            factor: v[if role == Role::Follows {
                "ratio"
            } else {
                "leader"
            }],
            role,
            dwell: v["dwell"] * setup.scale,
            lag: v["lag"] * setup.scale,
            at: 0.0,
            slow: false,
            random: Rng::with_seed(seed ^ u64::from(setup.cpu / 2)),
        })
    }),
    rhythm: Rhythm::None,
    by: By::Task,
};
