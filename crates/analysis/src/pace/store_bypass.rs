//! Second pass: the pace with speculative store bypass and without, where the recording switched it on purpose.
//!
//! The setting changes between two segments, and the manifest says when. Segments of both settings take turns (`--store-bypass alternate`), so what
//! else changes the pace falls on both. That each segment of one is slower than each of the other is the test, as often as the setting changed.

use crate::pace::thinned::Thinned;
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_statistics::order::median;
use std::collections::BTreeSet;

/// Collects the pace of each segment.
#[derive(Clone, Debug)]
pub struct Switched {
    /// From when on store bypass was allowed, or was not; in order of time.
    settings: Vec<(u64, bool)>,
    segments: Vec<Segment>,
    /// Paces of quanta without it, and with it.
    paces: [Thinned<f32>; 2],
}

/// Quanta of one segment that have a pace.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// How many settings had been made.
    set: usize,
    allowed: bool,
    units: f64,
    present: f64,
}

/// The pace with store bypass, and without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByStoreBypass {
    /// Medians over the quanta, ticks per unit: without it, and with it.
    pub pace: [f64; 2],
    /// Stays without it, and with it, in which this series has a segment. Segments in one stay are one trial.
    pub stays: [usize; 2],
    /// Share of the time without it, and with it.
    pub shares: [f64; 2],
    /// Each segment without it is slower than each with it.
    pub is_apart: bool,
}

impl Switched {
    /// `None` where nothing was switched.
    pub fn new(context: &Context) -> Option<Switched> {
        let settings = context.store_bypass.clone();
        let both = [false, true].map(|wanted| settings.iter().any(|set| set.1 == wanted));
        (both == [true, true]).then_some(Switched {
            settings,
            segments: Vec::new(),
            paces: Default::default(),
        })
    }

    /// `None` where all segments of this series had the same setting.
    pub fn finish(&self) -> Option<ByStoreBypass> {
        let of = |allowed: bool| {
            let segments = self.segments.iter();
            segments.filter(move |one| one.allowed == allowed && one.units > 0.0)
        };
        let paces = |allowed| of(allowed).map(|one| one.present / one.units);
        let time = |allowed| of(allowed).map(|one| one.present).sum::<f64>();
        let pace = |setting: usize| {
            let kept = self.paces[setting].kept().iter();
            median(kept.map(|pace| f64::from(*pace)))
        };
        let slowest_with = paces(true).fold(0.0, f64::max);
        let all = time(false) + time(true);
        Some(ByStoreBypass {
            pace: [pace(0)?, pace(1)?],
            stays: [false, true].map(|allowed| {
                let stays: BTreeSet<usize> = of(allowed).map(|one| one.set).collect();
                stays.len()
            }),
            shares: [time(false) / all, time(true) / all],
            is_apart: paces(false).all(|pace| pace > slowest_with),
        })
    }
}

impl Detector for Switched {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            let start = chunk.chunk.start.first().copied().unwrap_or(0);
            let set = self.settings.partition_point(|&(from, _)| from <= start);
            // Before the first setting the thread runs as it was started: with store bypass.
            let allowed = set.checked_sub(1).is_none_or(|last| self.settings[last].1);
            self.segments.push(Segment {
                set,
                allowed,
                ..Segment::default()
            });
        }
        let Some(segment) = self.segments.last_mut() else {
            return;
        };
        let paces = &mut self.paces[usize::from(segment.allowed)];
        let quanta = (chunk.pace.iter().zip(chunk.units)).zip(chunk.present);
        for ((pace, units), present) in quanta.filter(|((pace, _), _)| **pace > 0.0) {
            paces.push(*pace as f32);
            segment.units += units;
            segment.present += present;
        }
    }
}
