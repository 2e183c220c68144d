use super::*;
use crate::svg::tests::assert_well_formed;
use crate::text;
use bandscope_studies::scale::{Cost, OfCpu, Saving, Together};
use proptest::prelude::*;

/// What a job of so many lengths of phases loses: seen on few nodes, extrapolated on more, refused on most; on the fewest nodes too rare to say.
/// Causes have `name` in theirs.
pub(crate) fn sample(phases: usize, name: &str) -> Scale {
    let saving = |name: &str, less: Option<f64>| Saving {
        name: name.to_owned(),
        less,
    };
    let cell = |phase: usize, place: usize| {
        let longer = 0.004 * 2.2_f64.powi(place as i32) / (1.0 + phase as f64);
        let basis = match place + phase {
            _ if phase == 3 && place == 0 => Basis::TooRare,
            0..=4 => Basis::Observed,
            5..=6 => Basis::Extrapolated,
            _ => Basis::Beyond,
        };
        let is_refused = matches!(basis, Basis::TooRare | Basis::Beyond);
        let is_seen = basis == Basis::Observed;
        let mut from = vec![
            saving(&format!("task:{name}"), Some(longer * 0.7)),
            saving("tick", is_seen.then_some(longer * 0.1)),
        ];
        from.retain(|_| !is_refused);
        Cell {
            nodes: 16 << (2 * place),
            basis,
            cost: (!is_refused).then_some(Cost {
                longer,
                interval: (longer * 0.8, longer * 1.5),
                at_most: longer * 1.5,
            }),
            events: (basis != Basis::Beyond && basis != Basis::Extrapolated).then_some(7),
            from,
            decided_by_s: (!is_seen).then_some(3600.0),
            unseen: 0.1,
        }
    };
    let phases = (0..phases).map(|phase| Phase {
        phase_s: 1e-4 * 10_f64.powi(phase as i32),
        number: 1e5,
        seen_nodes: 3000,
        cells: (0..9).map(|place| cell(phase, place)).collect(),
        together: (phase > 0).then(|| Together {
            input: String::new(),
            cpus: 4,
            longer: 0.05,
            independent: Some(0.07),
        }),
    });
    Scale {
        verdict: format!(
            "On 1k nodes phases of 100 µs take 9.37 % longer. Without task:{name} it would be 2.81 % longer."
        ),
        inputs: vec![format!("{name}.bandscope")],
        kernel: "mulss80".into(),
        cpus: vec![OfCpu {
            cpu: Some(1),
            measured_s: 60.0,
            ..OfCpu::default()
        }],
        measured_s: 60.0,
        phases: phases.collect(),
        notes: vec![format!("Note: {name}.")],
        ..Scale::default()
    }
}

fn written(write: impl FnOnce(&mut dyn Write) -> Result<(), Error>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The page without its pictures.
#[test]
fn the_page_says_how_each_figure_is_known() {
    let page = written(|out| html(&sample(4, "program-1"), out));
    let mut plain = String::new();
    let mut rest = &page[page.find("<main>").unwrap()..];
    while let Some((before, after)) = rest.split_once("<svg") {
        plain += before;
        rest = after.split_once("</svg>").unwrap().1;
    }
    insta::assert_snapshot!(plain + rest);
}

#[test]
fn the_text_has_causes_of_what_is_extrapolated() {
    insta::assert_snapshot!(text::scale(&sample(4, "program-1"), &Options::default()));
}

#[test]
fn phases_that_one_of_another_kind_parts_are_not_told_together() {
    for is_known in [true, false] {
        let mut scale = sample(12, "x");
        for cell in &mut scale.phases[6].cells {
            cell.cost = is_known.then(Cost::default);
            cell.decided_by_s = None;
        }
        let ends = [[0, 5], [7, 11]].map(|ends| {
            let [first, last] = ends.map(|place: usize| text::scale::head(&scale.phases[place]));
            format!("Phases of {first} to {last} on 1M nodes: ")
        });
        let told = text::scale::decides(&scale);
        let starts = told
            .iter()
            .zip(&ends)
            .all(|(told, start)| told.starts_with(start));
        assert!(told.len() == ends.len() && starts, "{told:?}");
    }
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    let page = written(|out| html(&sample(4, "program-1"), out));
    let page = page.replace("http://www.w3.org/", "");
    for what in [
        "http:", "https:", " src=", "@import", "url(", "<script", " style=",
    ] {
        assert!(!page.contains(what), "{what}");
    }
    assert_eq!(page.matches("<svg").count(), 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_name_breaks_out(name in any::<String>(), phases in 0usize..6) {
        let (evil, plain) = (sample(phases, &name), sample(phases, "x"));
        let picture = written(|out| svg(&evil, &Options::default(), out));
        assert_well_formed(&picture, "random");
        let tags = |page: String| page.matches('<').count() - page.matches("<text").count() - page.matches("</text").count();
        prop_assert_eq!(tags(written(|out| html(&evil, out))), tags(written(|out| html(&plain, out))));
    }
}

#[test]
fn a_png_is_one() {
    let mut out = Vec::new();
    let options = Options {
        picture_width: 400.0,
        theme: Theme::Dark,
        ..Options::default()
    };
    png(&sample(4, "x"), &options, &mut out).unwrap();
    assert_eq!(&out[1..4], b"PNG");
}
