//! How much of the time in gaps has a sender that is known, and why the rest has none.

use crate::gaps::naming::Namer;
use crate::series::context::Context;
use bandscope_recording::manifest::{Events, EventsState};
use bandscope_report::{Cause, SenderTime};

/// What is known of who is behind a piece of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    Somebody,
    Nobody,
    NotRecorded,
    Unknown,
}

/// Ticks of gaps, by what is known of who is behind them.
#[derive(Clone, Debug, Default)]
pub struct Senders {
    ticks: [u128; 4],
    /// What no sender means, by the number of the cause.
    without: Vec<Behind>,
}

impl Senders {
    /// Takes the gap that `namer` split last.
    pub fn push(&mut self, namer: &Namer<'_>) {
        let new = namer.names().iter().skip(self.without.len());
        self.without
            .extend(new.map(|cause| without_sender(cause, namer.recorded())));
        // What no event covers comes after the pieces of the events.
        let senders = namer.senders().chain(std::iter::repeat(None));
        for (piece, sender) in namer.pieces().iter().zip(senders) {
            let behind = match sender {
                Some(sender) if sender.is_somebody() => Behind::Somebody,
                Some(sender) if !sender.name.is_empty() => Behind::Nobody,
                _ => self.without[piece.share.key as usize],
            };
            self.ticks[behind as usize] += u128::from(piece.share.ticks);
        }
    }

    /// What the report says of them.
    pub fn report(&self, context: &Context) -> SenderTime {
        let ns = |behind: Behind| context.ns(self.ticks[behind as usize] as f64).round() as u64;
        SenderTime {
            known_ns: ns(Behind::Somebody),
            none_ns: ns(Behind::Nobody),
            not_recorded_ns: ns(Behind::NotRecorded),
            unknown_ns: ns(Behind::Unknown),
        }
    }
}

/// What it means that a cause has no sender, where these events were recorded.
fn without_sender(cause: &Cause, events: &Events) -> Behind {
    let told_by = match cause {
        Cause::Task(_) | Cause::OtherTasks => "sched:sched_waking",
        Cause::Timer(_) => "timer:hrtimer_start",
        Cause::Softirq(_) => "irq:softirq_raise",
        Cause::Interrupt(_) if cause.is_by_another_cpu() => "ipi:ipi_send_cpu",
        // No event that is recorded tells who sends a signal.
        Cause::Stopped | Cause::Frozen => return Behind::NotRecorded,
        Cause::Preempted | Cause::Unnamed => {
            return match events.state {
                EventsState::On => Behind::Unknown,
                EventsState::Off | EventsState::Unavailable => Behind::NotRecorded,
            };
        }
        // The kernel's clock, hardware, this program itself, a limit, or whoever runs this kernel.
        Cause::Tick
        | Cause::Interrupt(_)
        | Cause::Exception(_)
        | Cause::Nmi
        | Cause::QuotaThrottled
        | Cause::RealTimeThrottled
        | Cause::Held(_)
        | Cause::Host => return Behind::Nobody,
    };
    match events.tracepoints.iter().any(|one| one == told_by) {
        true => Behind::Unknown,
        false => Behind::NotRecorded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_recorded_is_told_from_what_is_not_known() {
        let events = Events {
            state: EventsState::On,
            tracepoints: vec!["sched:sched_waking".into()],
            ..Events::default()
        };
        for (cause, wanted) in [
            (Cause::Tick, Behind::Nobody),
            (Cause::Interrupt("eth0".into()), Behind::Nobody),
            (
                Cause::Interrupt("call_function_single".into()),
                Behind::NotRecorded,
            ),
            (Cause::Timer("make".into()), Behind::NotRecorded),
            (Cause::Task("make".into()), Behind::Unknown),
            (Cause::Unnamed, Behind::Unknown),
        ] {
            assert_eq!(without_sender(&cause, &events), wanted, "{cause}");
        }
        assert_eq!(
            without_sender(&Cause::Unnamed, &Events::default()),
            Behind::NotRecorded
        );
    }
}
