//! Panels of reports.

use super::*;
use crate::samples;

fn pyramid(columns: usize, rows: usize, filled: &[(usize, usize)]) -> Pyramid {
    let mut counts = vec![0; columns * rows];
    for &(column, row) in filled {
        counts[column * rows + row] += 1;
    }
    Pyramid {
        time_s: (0.0, 1.0),
        density: Density {
            columns,
            rows,
            pace_ns: (10.0, 160.0),
            counts,
            outside: 0,
        },
        ..Pyramid::default()
    }
}

#[test]
fn the_axis_holds_what_there_is_and_little_more() {
    let one = pyramid(4, 8, &[(0, 2), (3, 5)]);
    let (low, high) = pace_range([&one].into_iter(), 0.0).unwrap();
    assert!(low < 20.0 && low > 16.0, "{low}");
    assert!(high > 80.0 && high < 100.0, "{high}");
    assert_eq!(pace_range([&pyramid(4, 8, &[])].into_iter(), 0.0), None);
}

#[test]
fn a_handful_of_slow_quanta_does_not_set_the_axis() {
    let mut filled = vec![(0, 2); 999];
    filled.push((3, 7));
    let one = pyramid(4, 8, &filled);
    let (_, high) = pace_range([&one].into_iter(), 0.002).unwrap();
    assert!(high < 40.0, "{high}");
    assert_eq!(beyond(&one, (10.0, high)), (false, true));
    let mut grid = Grid::new(4, 5);
    grid.add(&one, 0.0, (0.0, 1.0), (10.0, high));
    assert_eq!(grid.at(3, 4), 1, "it is drawn at the edge");
}

#[test]
fn no_quantum_is_lost_on_a_coarser_grid() {
    let filled: Vec<_> = (0..100).map(|k| (k, k % 8)).collect();
    let mut grid = Grid::new(13, 3);
    grid.add(&pyramid(100, 8, &filled), 0.0, (0.0, 1.0), (10.0, 160.0));
    assert_eq!(grid.counts.iter().sum::<u64>(), 100);
}

#[test]
fn a_pace_falls_into_the_row_that_holds_it() {
    // Rows of the density are 2^(1/16) high, rows of the grid 2: the last below 20 ns is row 15.
    let mut grid = Grid::new(1, 4);
    grid.add(&pyramid(1, 64, &[(0, 15)]), 0.0, (0.0, 1.0), (10.0, 160.0));
    assert_eq!(grid.by_pace(), [1, 0, 0, 0]);
}

#[test]
fn a_coarse_row_fills_what_it_covers() {
    let mut grid = Grid::new(1, 16);
    grid.add(&pyramid(1, 4, &[(0, 1)]), 0.0, (0.0, 1.0), (10.0, 160.0));
    let filled: Vec<usize> = (0..16).filter(|&row| grid.at(0, row) > 0).collect();
    assert_eq!(filled, [4, 5, 6, 7]);
}

#[test]
fn a_long_quantum_fills_its_length() {
    let mut grid = Grid::new(100, 8);
    grid.add(&pyramid(100, 8, &[(20, 0)]), 0.1, (0.0, 1.0), (10.0, 160.0));
    let columns: Vec<_> = (0..100).filter(|&c| grid.at(c, 0) > 0).collect();
    assert_eq!(columns, (20..30).collect::<Vec<_>>());
}

#[test]
fn senseless_pyramids_are_left_out() {
    let mut senseless = vec![pyramid(4, 8, &[(0, 2)]); 5];
    senseless[0].density.pace_ns = (0.0, 1.0);
    senseless[1].density.pace_ns = (1e-300, 1e300);
    senseless[2].density.pace_ns = (1.0, f64::NAN);
    senseless[3].density.counts.pop();
    senseless[4].density.columns = usize::MAX;
    assert_eq!(pace_range(senseless.iter(), 0.0), None);
    let mut grid = Grid::new(4, 4);
    for pyramid in &senseless {
        grid.add(pyramid, f64::NAN, (0.0, 1.0), (1.0, 2.0));
    }
    assert_eq!(grid.most(), 0);
    for time_s in [(1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let pyramid = Pyramid {
            time_s,
            ..Pyramid::default()
        };
        assert_eq!(time_range([&pyramid].into_iter()), None);
    }
}

#[test]
fn labels_say_no_more_than_they_must() {
    let noisy = samples::noisy().report;
    assert_eq!(labels(&noisy, &[0, 1]), ["10 kHz", "7777 Hz"]);
    let mut kernels = noisy.clone();
    kernels.series[1].kernel = "imul20".into();
    assert_eq!(
        labels(&kernels, &[0, 1]),
        ["10 kHz mulss80", "7777 Hz imul20"]
    );
    assert_eq!(groups(&kernels).len(), 1);
}
