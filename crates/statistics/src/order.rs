//! Medians, and the spread that goes with them.

/// Standard deviation over median absolute deviation of a normal distribution: 1 over its quantile of 75 % (Hampel 1974).
pub const SIGMA_PER_MAD: f64 = 1.4826;

/// The whole numbers whose order is the total order of floats: they are compared faster.
fn whole(value: f64) -> i64 {
    flip(value.to_bits() as i64)
}

/// Undoes itself.
fn flip(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn float(whole: i64) -> f64 {
    f64::from_bits(flip(whole) as u64)
}

/// The median of numbers, of an even number the upper of the two in the middle; `None` of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let numbers = values.into_iter().map(whole);
    let middle = upper_median(&mut numbers.collect::<Vec<_>>())?;
    Some(float(middle))
}

/// The numbers in their total order.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<i64> = values.into_iter().map(whole).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(float).collect()
}

/// The quartiles, the upper median among them; `None` of nothing.
pub fn quartiles(values: impl IntoIterator<Item = f64>) -> Option<[f64; 3]> {
    let mut numbers: Vec<i64> = values.into_iter().map(whole).collect();
    let [first, second, third] = [1, 2, 3].map(|quarter| numbers.len() * quarter / 4);
    let middle = upper_median(&mut numbers)?;
    let (below, above) = numbers.split_at_mut(second);
    let lower = match first < second {
        true => *below.select_nth_unstable(first).1,
        false => middle,
    };
    let upper = *above.select_nth_unstable(third - second).1;
    Some([lower, middle, upper].map(float))
}

/// The median of numbers, of an even number the mean of the two in the middle, as other tools print it; `None` of nothing.
///
/// For what is a quantity. [`median`] is one of the numbers themselves, which may be whole ones.
pub fn median_between(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(match values.len() % 2 {
        0 => (values[values.len() / 2 - 1] + upper) / 2.0,
        _ => upper,
    })
}

/// Of those with the same first number the one whose second is least, the first of equal ones, in the order in which the first numbers came up: such as of
/// windows of each length the worst. They are compared with all that are kept, so the first numbers have to be few.
pub fn least_of_each<T>(
    values: impl IntoIterator<Item = T>,
    of: impl Fn(&T) -> (f64, f64),
) -> Vec<T> {
    let mut least: Vec<T> = Vec::new();
    for value in values {
        let (key, size) = of(&value);
        match least.iter_mut().find(|known| of(known).0 == key) {
            Some(known) if of(known).1 <= size => {}
            Some(known) => *known = value,
            None => least.push(value),
        }
    }
    least
}

/// Apart from [`median`], which is compiled for every kind of iterator.
#[inline(never)]
fn upper_median(numbers: &mut [i64]) -> Option<i64> {
    let middle = numbers.len() / 2;
    (!numbers.is_empty()).then(|| *numbers.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::{least_of_each, median, median_between, quartiles, sorted};
    use proptest::prelude::*;

    #[test]
    fn of_few() {
        assert_eq!(median([]), None);
        assert_eq!(median([-3.0]), Some(-3.0));
        assert_eq!(median([2.0, 1.0]), Some(2.0));
        assert_eq!(median_between(vec![2.0, 1.0]), Some(1.5));
        assert_eq!(median_between(vec![4.0, 2.0, 1.0]), Some(2.0));
        assert_eq!(median_between(Vec::new()), None);
        assert_eq!(median([f64::INFINITY, -0.0, f64::NEG_INFINITY]), Some(-0.0));
    }

    #[test]
    fn of_each_key_the_least_stays() {
        let values = [
            (2.0, 5.0, 'a'),
            (1.0, 3.0, 'b'),
            (2.0, 4.0, 'c'),
            (2.0, 4.0, 'd'),
        ];
        let least = least_of_each(values, |one| (one.0, one.1));
        assert_eq!(least, [(2.0, 4.0, 'c'), (1.0, 3.0, 'b')]);
    }

    proptest! {
        #[test]
        fn is_what_stands_in_the_middle_of_a_sorted_list(values: Vec<f64>) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let expected = sorted.get(sorted.len() / 2).map(|value| value.to_bits());
            prop_assert_eq!(median(values).map(f64::to_bits), expected);
        }

        #[test]
        fn quartiles_are_what_stands_there_in_a_sorted_list(values: Vec<f64>) {
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            let found = quartiles(values.iter().copied());
            prop_assert_eq!(found.is_none(), values.is_empty());
            for (quarter, found) in (1..).zip(found.into_iter().flatten()) {
                let expected = expected[expected.len() * quarter / 4];
                prop_assert_eq!(found.to_bits(), expected.to_bits());
            }
            prop_assert_eq!(bits(&sorted(values)), bits(&expected));
        }
    }
}
