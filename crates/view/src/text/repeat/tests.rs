//! The page of a made-up session.

use super::*;
use bandscope_recording::runs::{Factor, Phase, Run};
use bandscope_studies::repeat::explain;

/// A session in which the layout decides, and whose command has a name to be careful with.
fn session() -> Runs {
    let run = |index: usize, slow: bool| Run {
        value: Some(if slow { 0.2 } else { 0.1 } * (1.0 + 0.003 * (index * 7 % 11) as f64)),
        wall_s: 0.1,
        counts: [(
            "irq:eth\x1b[0".to_owned(),
            if slow {
                900.0 + index as f64
            } else {
                5.0 + index as f64
            },
        )]
        .into(),
        ..Run::default()
    };
    let mut runs: Vec<Run> = (0..30).map(|index| run(index, index * 5 % 7 < 3)).collect();
    let set = |level: &str| [("layout".to_owned(), level.to_owned())].into();
    for (phase, number) in [(Phase::Screening, 8), (Phase::Confirmation, 12)] {
        runs.extend((0..number).map(|index| Run {
            phase,
            factor: Some("layout".into()),
            levels: set("fixed"),
            ..run(index, false)
        }));
        runs.extend((0..number).map(|index| Run {
            phase,
            factor: Some("layout".into()),
            ..run(index, index % 2 == 0)
        }));
    }
    Runs {
        command: vec!["./x\u{1b}[2J".into()],
        metric: Metric::measured("wall").unwrap(),
        started: "2026-11-22T12:00:00Z".into(),
        duration_s: 7.5,
        asked: 30,
        seed: 1,
        factors: vec![
            Factor {
                name: "layout".into(),
                levels: vec![INHERITED.into(), "fixed".into()],
                ..Factor::default()
            },
            Factor {
                name: "store-bypass".into(),
                missing: Some("this CPU does not do it".into()),
                ..Factor::default()
            },
        ],
        runs,
        ..Runs::default()
    }
}

#[test]
fn what_was_found() {
    insta::assert_snapshot!(repeat(&explain(&session()), &Options::default()));
}

#[test]
fn nothing_that_a_terminal_obeys_and_no_line_too_long() {
    for ascii in [false, true] {
        let options = Options {
            ascii,
            ..Options::default()
        };
        let text = repeat(&explain(&session()), &options);
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(!ascii || text.is_ascii(), "{text}");
    }
}

#[test]
fn any_number_of_runs_is_shown() {
    for number in [0, 1, 2, 5] {
        let mut runs = session();
        runs.runs.truncate(number);
        assert!(repeat(&explain(&runs), &Options::default()).lines().count() > 5);
        assert_eq!(live(&runs, &Options::default()).is_empty(), number == 0);
    }
}
