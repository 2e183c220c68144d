use super::*;
use bandscope_report::Place;

fn on_node(node: &str) -> Series {
    Series {
        cpu: Some(0),
        origin: format!("job/{node}"),
        place: Some(Place {
            node: node.into(),
            task: 0,
        }),
        ..Series::default()
    }
}

#[test]
fn cpus_of_several_nodes_are_not_one() {
    let mut report = crate::samples::empty().report;
    report.series = vec![on_node("a"), on_node("a")];
    let written = |report: &Report| write(std::slice::from_ref(report), None, &mut Vec::new());
    assert!(written(&report).is_ok());
    report.series.push(on_node("b"));
    let error = written(&report).unwrap_err();
    assert!(matches!(error, Error::SeveralTasks(one) if one == "job/a"));
}
