//! A report does not depend on the pieces in which a recording comes: how many rows a row group has is the writer's matter, and the clock's.

use bandscope_analysis::analyse;
use bandscope_recording::events::EventStream;
use bandscope_recording::source::InMemory;
use bandscope_recording::{Chunk, Error, Gap, KernelEvent, Manifest, Quanta, Series, Source};
use bandscope_sampler::machine::Choice;
use bandscope_simulation::{Scenario, request, synthesise};

/// A recording whose row groups hold so many rows.
struct InPieces<'a>(&'a InMemory, usize);

/// Events in pieces.
struct Pieces<'a>(std::slice::Chunks<'a, KernelEvent>);

impl EventStream for Pieces<'_> {
    fn next(&mut self, events: &mut Vec<KernelEvent>) -> Result<bool, Error> {
        events.clear();
        let piece = self.0.next();
        events.extend_from_slice(piece.unwrap_or_default());
        Ok(piece.is_some())
    }
}

impl Source for InPieces<'_> {
    fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    fn series(&self) -> &[Series] {
        &self.0.series
    }

    fn replay_quanta(&self, index: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error> {
        let quanta = &self.0.quanta[index];
        for from in (0..quanta.len()).step_by(self.1) {
            let mut piece = Quanta::default();
            piece.extend_from(quanta, from..(from + self.1).min(quanta.len()));
            piece.for_each_chunk(visit);
        }
        Ok(())
    }

    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        self.0.gaps[index].chunks(self.1).for_each(visit);
        Ok(())
    }

    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        Ok(Box::new(Pieces(self.0.events[index].chunks(self.1))))
    }
}

#[test]
fn a_report_does_not_depend_on_them() {
    for (scene, kernels) in [
        ("tick+flips", &["mulss80"][..]),
        (
            "tick:hz=250+states:dwell=3ms,seed=1+noise:sigma=0.002",
            &["ftq-o2", "mulss80"],
        ),
        (
            "timed-task:hz=200,cost=50us+host-steal:hz=10,cost=2ms",
            &["ftq-o2"],
        ),
    ] {
        let request = bandscope_sampler::Request {
            trace: Choice::On,
            segment_s: 1.3,
            ..request(&[10_000.0, 7777.0], kernels, 6.0)
        };
        let (source, _) = synthesise(&Scenario::parse(scene).unwrap(), &request).unwrap();
        let inputs = ["generated".to_owned()];
        let whole = analyse(&source, &inputs).unwrap().report;
        assert!(whole.series.iter().all(|series| series.quanta > 5_000));
        for rows in [997, 4095, 10_007] {
            let report = analyse(&InPieces(&source, rows), &inputs).unwrap().report;
            let [a, b] = [&whole, &report].map(|report| serde_json::to_value(report).unwrap());
            for part in ["series", "findings", "verdict", "cpus"] {
                assert_eq!(a[part], b[part], "{scene}: {part} in pieces of {rows}");
            }
        }
    }
}
