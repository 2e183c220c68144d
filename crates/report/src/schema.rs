//! The contract as a JSON schema: `report.schema.json` of this crate, which a test holds to the types.

use crate::{Evidence, Report};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The schema of [`Report`], as the file has it.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn report() -> Result<String, serde_json::Error> {
    of::<Report>()
}

/// The schema of a type, as its file has it.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn of<T: JsonSchema>() -> Result<String, serde_json::Error> {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Facts about the machine and the run have a contract of their own.
pub(crate) fn recording(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"] })
}

/// Ties what a finding rests on to its kind, which the types leave open.
pub(crate) fn evidence_by_kind(finding: &mut Schema) {
    let rules = Evidence::of_kinds().into_iter().map(|(kind, structs)| {
        let structs = structs.into_iter().map(|name| {
            let path = format!("#/$defs/{name}");
            serde_json::json!({ "$ref": path })
        });
        serde_json::json!({
            "if": { "properties": { "kind": { "const": kind.name() } } },
            "then": { "properties": { "evidence": { "anyOf": structs.collect::<Vec<_>>() } } },
        })
    });
    finding.insert("allOf".to_owned(), rules.collect());
}
