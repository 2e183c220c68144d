//! What the studies print as JSON schemas: the `.schema.json` files of this crate, which a test holds to the types.

use crate::{check, compare, cure, doctor, fleet, histogram, lab, program, repeat, scale};
use bandscope_recording::baseline::Baseline;
use bandscope_recording::summary::Summary;
use bandscope_report::schema;
use schemars::{Schema, SchemaGenerator, json_schema};

/// Makes a schema, as its file has it.
pub type Make = fn() -> Result<String, serde_json::Error>;

/// The files, and what makes each.
pub const FILES: [(&str, Make); 12] = [
    ("baseline.schema.json", schema::of::<Baseline>),
    ("check.schema.json", schema::of::<check::Check>),
    ("compare.schema.json", schema::of::<compare::Comparison>),
    ("cure.schema.json", schema::of::<cure::Judged>),
    ("doctor.schema.json", schema::of::<doctor::Doctor>),
    ("fleet.schema.json", schema::of::<fleet::Fleet>),
    ("histogram.schema.json", schema::of::<histogram::Report>),
    ("lab.schema.json", schema::of::<lab::Lab>),
    ("lab-program.schema.json", schema::of::<program::Explained>),
    ("repeat.schema.json", schema::of::<repeat::Repeat>),
    ("scale.schema.json", schema::of::<scale::Scale>),
    ("summary.schema.json", schema::of::<Summary>),
];

/// Facts about the machine have a contract of their own.
pub(crate) fn facts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

/// The same where they may not be known.
pub(crate) fn facts_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"] })
}
