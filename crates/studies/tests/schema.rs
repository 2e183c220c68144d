//! The JSON schemas that are shipped are those of the types. `BLESS=1 cargo test -p bandscope-studies --test schema` writes them anew.

#[test]
fn the_schemas_that_are_shipped_are_those_of_the_types() {
    for (file, make) in bandscope_studies::schema::FILES {
        let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let schema = make().unwrap();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        let shipped = std::fs::read_to_string(&path).unwrap();
        assert!(
            schema == shipped,
            "{path} is not that of the types: write it anew with BLESS=1"
        );
    }
}
