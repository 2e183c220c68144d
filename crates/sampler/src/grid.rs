//! The deadlines of the quanta: `start + round(k * quantum)`, in fixed point.
//!
//! A step truncated to whole ticks, as FTQ takes it, is up to one tick short in every quantum: 5 ppm at
//! 100 us and 2 GHz, which is the whole drift of the published X (docs/method.md, section 5.4). With 64 bits
//! of fraction the grid is one tick off after 10^19 quanta.

/// One tick in the grid's fixed point.
const ONE: u128 = 1 << 64;

/// Deadlines on a regular grid. All sums wrap like the counter that they are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Deadline of the last quantum handed out, with half a tick added so that the shift rounds.
    position: u128,
    step: u128,
}

impl Grid {
    /// A grid of quanta of `quantum_ticks` that begins at `start`.
    pub fn new(start: u64, quantum_ticks: f64) -> Grid {
        Grid {
            position: (u128::from(start) << 64) + ONE / 2,
            step: fixed_point(quantum_ticks),
        }
    }

    /// The deadline of the next quantum.
    #[inline(always)]
    pub fn next_deadline(&mut self) -> u64 {
        self.position = self.position.wrapping_add(self.step);
        (self.position >> 64) as u64
    }
}

/// `ticks` with 64 bits of fraction.
///
/// The product of a 53-bit mantissa and a power of two is exact, so nothing is lost but what `f64` lacks.
fn fixed_point(ticks: f64) -> u128 {
    (ticks * ONE as f64) as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_rounded_multiples() {
        let mut grid = Grid::new(1000, 10.25);
        let deadlines: Vec<u64> = (0..6).map(|_| grid.next_deadline()).collect();
        // 1010.25, 1020.5 (half rounds up), 1030.75, 1041, 1051.25, 1061.5
        assert_eq!(deadlines, [1010, 1021, 1031, 1041, 1051, 1062]);
    }

    #[test]
    fn an_hour_at_100_khz_is_not_a_tick_off() {
        // 2.3 GHz / 7777 Hz does not end in binary nor in decimal.
        let quantum = 2.3e9 / 7777.0;
        let mut grid = Grid::new(0, quantum);
        let quanta = 7777 * 3600;
        let mut last = 0;
        for _ in 0..quanta {
            last = grid.next_deadline();
        }
        assert!(last.abs_diff(2_300_000_000 * 3600) <= 1, "{last}");
    }

    #[test]
    fn the_grid_wraps_with_the_counter() {
        let mut grid = Grid::new(u64::MAX - 4, 10.0);
        assert_eq!(grid.next_deadline(), 5);
    }
}
