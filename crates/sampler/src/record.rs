//! What the loop hands to its sink: 16 bytes a quantum, one cache line a gap.
//!
//! A quantum's record holds the end, the count, the number of gaps and the time during which the CPU was
//! *here*. Storing presence and not absence is what makes 16 bytes enough: presence is never longer than
//! the quantum, while an absence has no bound. The absence is `length - present`.

use bandscope_recording::gaps::MAX_COUNTERS;

/// Ends are kept modulo 2^48 ticks (34 hours at 2.3 GHz), which [`crate::Assembler`] unwraps.
const END_BITS: u32 = 48;
const END_MASK: u64 = (1 << END_BITS) - 1;
/// The number of gaps that marks the start of a segment; a quantum's own number saturates below it.
const SEGMENT_MARK: u64 = 0xffff;

/// The longest quantum, in ticks: presence has 32 bits, one is left for the overshoot.
pub const MAX_QUANTUM_TICKS: f64 = (1u64 << 31) as f64;

/// One quantum, or the start of a segment, in 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct QuantumRecord {
    /// Low 48 bits: end in ticks since the recording's origin. High 16 bits: number of gaps.
    end_and_gaps: u64,
    /// Low 32 bits: count. High 32 bits: ticks during which the CPU was here.
    count_and_present: u64,
}

/// A [`QuantumRecord`], unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpacked {
    /// A segment of series `series` starts at `start`, on `cpu`.
    Segment {
        /// Ticks since the origin, modulo 2^48.
        start: u64,
        /// Index of the series in the request.
        series: u32,
        /// CPU on which the thread found itself.
        cpu: u32,
    },
    /// A quantum, which begins where the record before it ends.
    Quantum {
        /// Ticks since the origin, modulo 2^48.
        end: u64,
        /// Units completed in it.
        count: u32,
        /// Units with a gap; saturates at 65534.
        gaps: u16,
        /// Ticks of the other units.
        present: u32,
    },
}

impl QuantumRecord {
    /// A quantum that ended at `end` ticks since the origin.
    #[inline(always)]
    pub fn quantum(end: u64, count: u32, gaps: u32, present: u64) -> QuantumRecord {
        debug_assert!(present <= u64::from(u32::MAX));
        let gaps = u64::from(gaps).min(SEGMENT_MARK - 1);
        QuantumRecord {
            end_and_gaps: (end & END_MASK) | (gaps << END_BITS),
            count_and_present: u64::from(count) | (present << 32),
        }
    }

    /// The start of a segment.
    pub fn segment(start: u64, series: u32, cpu: u32) -> QuantumRecord {
        QuantumRecord {
            end_and_gaps: (start & END_MASK) | (SEGMENT_MARK << END_BITS),
            count_and_present: u64::from(series) | (u64::from(cpu) << 32),
        }
    }

    /// What its two words hold.
    pub fn unpack(self) -> Unpacked {
        let end = self.end_and_gaps & END_MASK;
        let gaps = self.end_and_gaps >> END_BITS;
        let low = self.count_and_present as u32;
        let high = (self.count_and_present >> 32) as u32;
        if gaps == SEGMENT_MARK {
            Unpacked::Segment {
                start: end,
                series: low,
                cpu: high,
            }
        } else {
            Unpacked::Quantum {
                end,
                count: low,
                gaps: gaps as u16,
                present: high,
            }
        }
    }

    /// The two words as they lie in memory, for a ring that stores words.
    #[inline(always)]
    pub fn words(self) -> [u64; 2] {
        [self.end_and_gaps, self.count_and_present]
    }

    /// The record that [`QuantumRecord::words`] gave.
    pub fn from_words(words: [u64; 2]) -> QuantumRecord {
        QuantumRecord {
            end_and_gaps: words[0],
            count_and_present: words[1],
        }
    }
}

/// Continues the 48 bits of `low` from the full value `last`, which must not be more than 2^48 older.
pub fn unwrap_end(last: u64, low: u64) -> u64 {
    last.wrapping_add(low.wrapping_sub(last) & END_MASK)
}

/// One gap or checkpoint, 64 bytes. `duration` 0 is a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct GapRecord {
    /// Ticks since the recording's origin.
    pub start: u64,
    /// Ticks from there to its end; 0 of a checkpoint.
    pub duration: u64,
    /// Ticks spent on reading counters afterwards.
    pub handling: u32,
    /// [`GapRecord::PREEMPTION_KNOWN`], [`GapRecord::PREEMPTED`].
    pub flags: u32,
    /// Counter values, not increments: absolute as read.
    pub counters: [u64; MAX_COUNTERS],
}

impl GapRecord {
    /// Preemption can be seen on this machine.
    pub const PREEMPTION_KNOWN: u32 = 1;
    /// The thread was preempted or took a signal.
    pub const PREEMPTED: u32 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_what_the_ring_expects() {
        assert_eq!(size_of::<QuantumRecord>(), 16);
        assert_eq!(size_of::<GapRecord>(), 64);
    }

    #[test]
    fn a_quantum_survives_packing() {
        let record = QuantumRecord::quantum((1 << 50) + 77, u32::MAX, 70_000, 4_000_000_000);
        assert_eq!(
            QuantumRecord::from_words(record.words()).unpack(),
            Unpacked::Quantum {
                end: 77,
                count: u32::MAX,
                gaps: 65534,
                present: 4_000_000_000
            }
        );
    }

    #[test]
    fn ends_continue_over_48_bits() {
        let last = (3 << 48) - 5;
        assert_eq!(unwrap_end(last, 7), (3 << 48) + 7);
        assert_eq!(unwrap_end(last, last & END_MASK), last);
    }
}
