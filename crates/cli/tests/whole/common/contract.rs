//! Whether what the program prints as JSON is what the `.schema.json` files say, and holds nothing that they do not say.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::sync::LazyLock;

/// What a printed object begins with, and its schema.
const CONTRACTS: [(&str, &str); 13] = [
    (
        r#"{"schema":"bandscope.report/1""#,
        include_str!("../../../../report/report.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.baseline/1""#,
        include_str!("../../../../studies/baseline.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.check/1""#,
        include_str!("../../../../studies/check.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.compare/1""#,
        include_str!("../../../../studies/compare.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.cure/1""#,
        include_str!("../../../../studies/cure.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.doctor/1""#,
        include_str!("../../../../studies/doctor.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.fleet/1""#,
        include_str!("../../../../studies/fleet.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.summary/1""#,
        include_str!("../../../../studies/summary.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.histogram/1""#,
        include_str!("../../../../studies/histogram.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.scale/1""#,
        include_str!("../../../../studies/scale.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.lab/1""#,
        include_str!("../../../../studies/lab.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.lab-program/1""#,
        include_str!("../../../../studies/lab-program.schema.json"),
    ),
    (
        r#"{"schema":"bandscope.repeat/1""#,
        include_str!("../../../../studies/repeat.schema.json"),
    ),
];

/// Asserts it of what the program wrote, if that is one of these objects.
pub fn check(written: &str) {
    static SCHEMAS: LazyLock<(Schemas, Vec<SchemaIndex>)> = LazyLock::new(schemas);
    let begins: String = written
        .chars()
        .filter(|one| !one.is_whitespace())
        .take(64)
        .collect();
    for ((beginning, _), index) in CONTRACTS.iter().zip(&SCHEMAS.1) {
        if begins.starts_with(beginning) {
            let object = serde_json::from_str(written).unwrap();
            if let Err(error) = SCHEMAS.0.validate(&object, *index) {
                panic!("not as the schema of {beginning} says: {error:#}");
            }
        }
    }
}

fn schemas() -> (Schemas, Vec<SchemaIndex>) {
    let mut compiler = Compiler::new();
    let mut schemas = Schemas::new();
    let indices = CONTRACTS.iter().enumerate().map(|(number, (_, text))| {
        let mut schema = serde_json::from_str(text).unwrap();
        forbid_others(&mut schema);
        let name = format!("{number}.json");
        compiler.add_resource(&name, schema).unwrap();
        compiler.compile(&name, &mut schemas).unwrap()
    });
    let indices = indices.collect();
    (schemas, indices)
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
