//! Samples of a series of any length, evenly thinned.

/// Of more samples every second one goes.
const MOST: u64 = 1 << 14;

/// Every which sample is kept is a power of two.
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    kept: Vec<T>,
    halved: u32,
    seen: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Thinned<T> {
        Thinned {
            kept: Vec::new(),
            halved: 0,
            seen: 0,
        }
    }
}

impl<T> Thinned<T> {
    /// Takes a sample.
    #[inline]
    pub fn push(&mut self, sample: T) {
        if self.seen.is_multiple_of(1 << self.halved) {
            self.kept.push(sample);
            if self.kept.len() as u64 == MOST {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.halved += 1;
            }
        }
        self.seen += 1;
    }

    /// Those that were kept, in order.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_spread_evenly() {
        let mut thinned = Thinned::default();
        (0..100_000u64).for_each(|sample| thinned.push(sample));
        let kept = thinned.kept();
        assert!((MOST / 2..MOST).contains(&(kept.len() as u64)));
        let step = kept[1] - kept[0];
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == step));
        assert!(100_000 - kept[kept.len() - 1] <= step);
    }
}
