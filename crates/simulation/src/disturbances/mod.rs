//! What can happen to a simulated machine, one file a family; [`crate::catalogue`] gives each a name and
//! parameters, [`crate::world`] performs it.

pub mod artefacts;
pub mod crowds;
pub mod interrupts;
pub mod jumps;
pub mod paces;
pub mod random;
pub mod reactions;
pub mod shared;

use crate::events::Told;
use crate::kernels::Feels;

/// No run gets there.
pub(crate) const NEVER: f64 = f64::INFINITY;

/// What a disturbance does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The CPU is away for so many ticks.
    Away(f64),
    /// From now on a unit takes its best time multiplied by this, as far as this disturbance goes;
    /// factors of several disturbances multiply.
    Slowdown(f64),
    /// The phase of what is periodic jumped, or the thread is on another CPU from now on.
    Jump {
        /// By how many ticks later the edges of periodic changes of pace come.
        delay: f64,
        /// CPU before; the same as after it where only the phase jumps.
        from: u32,
        /// CPU that the thread goes on.
        to: u32,
    },
}

/// What a disturbance does at a quantum's boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Boundary {
    /// Ticks lost: an artefact of the benchmark itself, periodic in quanta and not in time.
    pub cost: f64,
    /// From now on this is the disturbance's factor, as by [`Action::Slowdown`].
    pub slowdown: Option<f64>,
}

/// Something that disturbs the work: a sequence of actions in order of time.
pub trait Disturbance {
    /// The next action and its time in ticks since the machine's start; times never run backwards.
    fn next(&mut self) -> (f64, Action);

    /// What happens before quantum number `quantum` (from 0) of a segment, while this disturbance slows
    /// the work by `slowdown`. Also called after a segment's last quantum.
    fn boundary(&mut self, _quantum: u64, _slowdown: f64) -> Boundary {
        Boundary::default()
    }
}

/// A disturbance, and where it belongs.
pub struct Placed {
    /// Index of the part of the scenario.
    pub part: usize,
    /// The only work kernels that its slowdowns concern, where they do not concern all.
    pub only: Option<Feels>,
    /// What the kernel tells of its absences; `None` where they are none of the kernel's.
    pub told: Option<Told>,
    /// When it acts, and how.
    pub disturbance: Box<dyn Disturbance>,
}
