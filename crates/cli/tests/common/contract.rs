//! Whether a report is what `crates/report/report.schema.json` says, and holds nothing that it does not say.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::sync::LazyLock;

/// Asserts it of what the program wrote, if that is a report.
pub fn check(written: &str) {
    const REPORT: &str = r#"{"schema":"bandscope.report/1""#;
    static SCHEMA: LazyLock<(Schemas, SchemaIndex)> = LazyLock::new(schema);
    let text: String = written
        .chars()
        .filter(|one| !one.is_whitespace())
        .take(REPORT.len())
        .collect();
    if text == REPORT {
        let report = serde_json::from_str(written).unwrap();
        if let Err(error) = SCHEMA.0.validate(&report, SCHEMA.1) {
            panic!("not as report.schema.json says: {error:#}");
        }
    }
}

fn schema() -> (Schemas, SchemaIndex) {
    let mut schema =
        serde_json::from_str(include_str!("../../../report/report.schema.json")).unwrap();
    forbid_others(&mut schema);
    let mut compiler = Compiler::new();
    compiler.add_resource("report.schema.json", schema).unwrap();
    let mut schemas = Schemas::new();
    let index = compiler
        .compile("report.schema.json", &mut schemas)
        .unwrap();
    (schemas, index)
}

/// Readers ignore keys that they do not know; what writes them must not have any.
fn forbid_others(schema: &mut Value) {
    match schema {
        Value::Object(of) => {
            if of.contains_key("properties") && of.get("type").is_some_and(|one| one == "object") {
                of.entry("additionalProperties").or_insert(false.into());
            }
            of.values_mut().for_each(forbid_others);
        }
        Value::Array(all) => all.iter_mut().for_each(forbid_others),
        _ => {}
    }
}
