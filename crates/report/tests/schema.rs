//! The JSON schema that is shipped is that of the types. `BLESS=1 cargo test -p bandscope-report` writes it anew.

#[test]
fn the_schema_that_is_shipped_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/report.schema.json");
    let schema = bandscope_report::schema::report().unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &schema).unwrap();
    }
    let shipped = std::fs::read_to_string(path).unwrap();
    assert!(
        schema == shipped,
        "{path} is not that of the types: write it anew with BLESS=1"
    );
}
