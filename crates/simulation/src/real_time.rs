//! The simulated machine at the pace of the clock on the wall: for whoever looks on while it is measured.
//!
//! Simulated time passes as fast as it can be computed, CPU after CPU. Here each CPU is computed by a thread of its own, at most some
//! seconds ahead, and what was measured is handed out when its time has come, all CPUs beside each other, as a real machine
//! does it. The quanta are the same.

use crate::machine::SimulatedMachine;
use bandscope_recording::manifest::State;
use bandscope_recording::{Gap, KernelEvent, Manifest, Quanta};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::{Batch, Machine, MachineError, Request};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// As long as a real machine's consumer sleeps between two looks.
const NAP: Duration = Duration::from_millis(25);
/// Batches of up to 32 Ki quanta and some seconds that are computed ahead.
const AHEAD: usize = 1;

/// A simulated machine whose time passes as ours does.
#[derive(Clone, Debug)]
pub struct RealTime(pub SimulatedMachine);

/// A batch of one CPU.
struct Piece {
    series: usize,
    quanta: Quanta,
    gaps: Vec<Gap>,
    events: Vec<KernelEvent>,
}

impl Piece {
    fn of(batch: &Batch<'_>) -> Piece {
        Piece {
            series: batch.series,
            quanta: batch.quanta.clone(),
            gaps: batch.gaps.to_vec(),
            events: batch.events.to_vec(),
        }
    }
}

/// What is on its way from the thread that computes a CPU.
struct Lane {
    cpu: u32,
    pieces: Receiver<Piece>,
    /// The batch that is being handed out, and how many of its quanta were.
    at: Option<(Piece, usize)>,
    ended: bool,
}

impl Machine for RealTime {
    fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError> {
        self.0.prepare(request)
    }

    fn run(
        &mut self,
        request: &Request,
        manifest: &mut Manifest,
        stop: &AtomicBool,
        consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> Result<(), MachineError> {
        let (plan, machine) = (manifest.clone(), &self.0);
        let outcomes = thread::scope(|scope| {
            let mut lanes = Vec::new();
            let mut threads = Vec::new();
            for &cpu in &plan.settings.cpus {
                let (sender, pieces) = sync_channel(AHEAD);
                let plan = &plan;
                let compute = move || compute(machine.clone(), cpu, request, plan, stop, &sender);
                threads.push(scope.spawn(compute));
                lanes.push(Lane {
                    cpu,
                    pieces,
                    at: None,
                    ended: false,
                });
            }
            let consumed = hand_out(&mut lanes, plan.clock.ticks_per_ns, stop, consume);
            // Whoever still computes finds nobody who listens, and ends.
            drop(lanes);
            let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            (consumed, outcomes)
        });
        manifest.state = match stop.load(Ordering::Relaxed) {
            true => State::Interrupted,
            false => State::Complete,
        };
        for outcome in outcomes.1 {
            let failed = || MachineError::Refused("the simulation panicked: this is a bug".into());
            let (result, mut part) = outcome.map_err(|_| failed())?;
            manifest.incidents.append(&mut part.incidents);
            // An error of a CPU that nobody listened to any more is that of the listener.
            if consumed_all(&outcomes.0, stop)
                && let Err(error) = result
            {
                manifest.state = State::Failed;
                return Err(error);
            }
        }
        manifest.incidents.sort_by_key(|incident| incident.ticks);
        outcomes.0.map_err(|error| {
            manifest.state = State::Failed;
            MachineError::Consumer(error)
        })
    }
}

fn consumed_all(consumed: &Consumed, stop: &AtomicBool) -> bool {
    consumed.is_ok() && !stop.load(Ordering::Relaxed)
}

/// Runs one CPU, handing on what is measured; its outcome and what its manifest says of it.
fn compute(
    mut machine: SimulatedMachine,
    cpu: u32,
    request: &Request,
    plan: &Manifest,
    stop: &AtomicBool,
    sender: &SyncSender<Piece>,
) -> (Result<(), MachineError>, Manifest) {
    let mut manifest = plan.clone();
    manifest.settings.cpus = vec![cpu];
    manifest.incidents.clear();
    let request = Request {
        cpus: vec![cpu],
        ..request.clone()
    };
    let result = machine.run(&request, &mut manifest, stop, &mut |batch| {
        let sent = sender.send(Piece::of(&batch));
        sent.map_err(|_| "nobody listens any more".into())
    });
    (result, manifest)
}

/// Hands out what has happened by now, until all CPUs have ended or somebody wants it to end.
fn hand_out(
    lanes: &mut [Lane],
    ticks_per_ns: f64,
    stop: &AtomicBool,
    consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
) -> Consumed {
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let now = (start.elapsed().as_nanos() as f64 * ticks_per_ns) as u64;
        for lane in lanes.iter_mut() {
            lane.hand_out(now, consume)?;
        }
        if lanes.iter().all(|lane| lane.ended) {
            return Ok(());
        }
        thread::sleep(NAP);
    }
    Ok(())
}

impl Lane {
    /// Hands out the quanta that have ended by `now`, and events as they come.
    fn hand_out(&mut self, now: u64, consume: &mut dyn FnMut(Batch<'_>) -> Consumed) -> Consumed {
        loop {
            let Some((piece, from)) = &mut self.at else {
                match self.pieces.try_recv() {
                    Ok(piece) => self.at = Some((piece, 0)),
                    Err(TryRecvError::Empty) => return Ok(()),
                    Err(TryRecvError::Disconnected) => {
                        self.ended = true;
                        return Ok(());
                    }
                }
                continue;
            };
            let to = *from + piece.quanta.end[*from..].partition_point(|&end| end <= now);
            let last = to == piece.quanta.len();
            let mut quanta = Quanta::default();
            quanta.extend_from(&piece.quanta, *from..to);
            let gaps = match quanta.end.last() {
                _ if last => piece.gaps.len(),
                Some(&end) => piece.gaps.partition_point(|gap| gap.start < end),
                None => 0,
            };
            let gaps: Vec<Gap> = piece.gaps.drain(..gaps).collect();
            let events = std::mem::take(&mut piece.events);
            let series = piece.series;
            *from = to;
            if last {
                self.at = None;
            }
            if !quanta.is_empty() || !events.is_empty() {
                consume(Batch {
                    cpu: self.cpu,
                    series,
                    quanta: &quanta,
                    gaps: &gaps,
                    events: &events,
                    tasks: &[],
                })?;
            }
            if !last {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::request;
    use crate::scenario::Scenario;
    use bandscope_sampler::machine::Choice;

    /// All that was consumed of each CPU.
    fn run(machine: &mut dyn Machine, request: &Request) -> Vec<(u32, Quanta, Vec<Gap>, usize)> {
        let mut manifest = machine.prepare(request).unwrap();
        let cpus = manifest.settings.cpus.iter();
        let mut seen: Vec<_> = cpus
            .map(|&cpu| (cpu, Quanta::default(), Vec::new(), 0))
            .collect();
        let stop = AtomicBool::new(false);
        machine
            .run(request, &mut manifest, &stop, &mut |batch| {
                let one = seen.iter_mut().find(|one| one.0 == batch.cpu).unwrap();
                one.1.extend_from(batch.quanta, 0..batch.quanta.len());
                one.2.extend_from_slice(batch.gaps);
                one.3 += batch.events.len();
                Ok(())
            })
            .unwrap();
        assert_eq!(manifest.state, State::Complete);
        seen
    }

    #[test]
    fn the_same_is_measured_only_later() {
        let scenario = Scenario::parse("tick:hz=100,cost=3us+flips").unwrap();
        let request = Request {
            cpus: vec![4, 1],
            segment_s: 0.02,
            trace: Choice::On,
            ..request(&[10_000.0, 7_777.0], &["mulss80"], 0.2)
        };
        let mut machine = SimulatedMachine::new(scenario);
        let at_once = run(&mut machine, &request);
        assert!(at_once[0].1.len() > 1000 && at_once[0].2.len() > 10 && at_once[0].3 > 10);
        assert_eq!(run(&mut RealTime(machine), &request), at_once);
    }

    #[test]
    fn it_ends_when_somebody_wants_it_to_or_cannot_go_on() {
        let scenario = Scenario::parse("tick").unwrap();
        let request = request(&[10_000.0], &["mulss80"], 3_000.0);
        let mut machine = RealTime(SimulatedMachine::new(scenario));
        let mut manifest = machine.prepare(&request).unwrap();
        let stop = AtomicBool::new(false);
        let mut quanta = 0;
        let mut stop_soon = |batch: Batch<'_>| {
            quanta += batch.quanta.len();
            stop.store(true, Ordering::Relaxed);
            Ok(())
        };
        machine
            .run(&request, &mut manifest, &stop, &mut stop_soon)
            .unwrap();
        assert_eq!(manifest.state, State::Interrupted);
        assert!(quanta > 0 && quanta < 30_000_000, "{quanta}");
        let stop = AtomicBool::new(false);
        let error = machine
            .run(&request, &mut manifest, &stop, &mut |_| {
                Err("no space left".into())
            })
            .unwrap_err();
        assert!(error.to_string().contains("no space left"), "{error}");
        assert_eq!(manifest.state, State::Failed);
    }
}
