//! What really happened in a simulated run: the yardstick for everything that an analysis says of it.

/// The truth about one CPU of a simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// CPU.
    pub cpu: u32,
    /// Times away, in order.
    pub absences: Vec<Absence>,
    /// Changes of pace, in order; the first is the state at the start.
    pub paces: Vec<PaceChange>,
}

/// One time away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Absence {
    /// Ticks since the origin.
    pub start: f64,
    /// Ticks.
    pub length: f64,
    /// Index of the disturbance in the scenario.
    pub source: usize,
}

/// From here on a unit takes another time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceChange {
    /// Ticks since the origin.
    pub at: f64,
    /// Ticks per unit from then on.
    pub ticks_per_unit: f64,
}

impl Truth {
    /// Total time away, in ticks.
    pub fn away_ticks(&self) -> f64 {
        self.absences.iter().map(|absence| absence.length).sum()
    }
}
