use super::*;

fn set(location: Location, text: &str, hosts: &[&str]) -> DocumentSet {
    DocumentSet::open(location, text, hosts.iter().map(|host| (*host).to_owned())).unwrap()
}

fn wanted_of(location: &Location, reference: &str, hosts: &[&str]) -> Vec<String> {
    let text = serde_json::json!({ "$ref": reference }).to_string();
    let mut documents = set(location.clone(), &text, hosts);
    let wanted = documents.wanted().into_iter();
    wanted.map(|location| location.to_string()).collect()
}

#[test]
fn files_are_wanted_below_the_folder_of_the_first_document_only() {
    let root = Location::file("openapi.yaml");
    for (reference, wanted) in [
        ("schemas/pet.yaml#/Pet", "schemas/pet.yaml"),
        ("./schemas/../pet.yaml", "pet.yaml"),
        ("my%20pet.yaml", "my pet.yaml"),
    ] {
        assert_eq!(wanted_of(&root, reference, &[]), [wanted], "{reference}");
    }
    for refused in [
        "#/components/schemas/Pet",
        "/etc/passwd",
        "../../../etc/passwd",
        "a/../../b.yaml",
        "%2e%2e/b.yaml",
        "%2fetc%2fpasswd",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "..\\b.yaml",
        "c:/b.yaml",
        "//evil.example/a.yaml",
        "https://evil.example/a.yaml",
        "http://user:pass@evil.example/a.yaml",
    ] {
        assert_eq!(wanted_of(&root, refused, &[]), [""; 0], "{refused}");
    }
}

#[test]
fn a_file_in_a_folder_refers_to_its_siblings() {
    let mut documents = set(
        Location::file("openapi.yaml"),
        r#"{"a": {"$ref": "schemas/pet.yaml"}}"#,
        &[],
    );
    let pet = documents.wanted().pop_first().unwrap();
    documents
        .add(pet, r#"{"$ref": "owner.yaml#/Owner"}"#)
        .unwrap();
    let owner = documents.wanted().pop_first().unwrap();
    assert_eq!(owner, Location::file("schemas/owner.yaml"));
    documents
        .add(owner, r#"{"Owner": {"type": "object"}}"#)
        .unwrap();
    assert!(documents.wanted().is_empty());
    let first = documents.root().member("a").unwrap();
    let found = documents.follow(first).unwrap();
    assert_eq!(found.value, &serde_json::json!({"type": "object"}));
}

#[test]
fn other_hosts_are_refused_unless_they_are_allowed() {
    let root = Location::web("https://api.example/specs/v1/openapi.yaml?x=1#frag").unwrap();
    for (reference, hosts, wanted) in [
        (
            "pet.yaml",
            &[][..],
            &["https://api.example/specs/v1/pet.yaml"][..],
        ),
        (
            "/specs/v1/a/b.yaml",
            &[],
            &["https://api.example/specs/v1/a/b.yaml"],
        ),
        ("/other.yaml", &[], &[]),
        ("../pet.yaml", &[], &[]),
        ("https://api.example/specs/v1/../x.yaml", &[], &[]),
        ("https://api.example/specs/v1/%2e%2e/x.yaml", &[], &[]),
        ("https://api.example/specs/v1/a\\..\\..\\x.yaml", &[], &[]),
        ("https://api.example/specs/v1/.\t./x.yaml", &[], &[]),
        ("http://api.example/specs/v1/pet.yaml", &[], &[]),
        ("https://other.example/pet.yaml", &[], &[]),
        (
            "https://Other.example/pet.yaml",
            &["other.example"],
            &["https://other.example/pet.yaml"],
        ),
        (
            "https://other.example.evil/pet.yaml",
            &["other.example"],
            &[],
        ),
    ] {
        assert_eq!(wanted_of(&root, reference, hosts), wanted, "{reference}");
    }
}

#[test]
fn a_circle_of_references_and_a_dangling_one_are_reported() {
    let text = r##"{"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}, "c": {"$ref": "#/none"}, "d": {"$ref": "#anchor"}}"##;
    let documents = set(Location::file("a.json"), text, &[]);
    let failed = |name: &str| {
        let part = documents.root().member(name).unwrap();
        documents.follow(part).unwrap_err().to_string()
    };
    assert_eq!(
        failed("a"),
        "`#/b` is part of a chain of more than 32 references (IMPORT_REFERENCE_CHAIN)"
    );
    assert_eq!(failed("c"), "`#/none` leads to nothing");
    assert_eq!(
        failed("d"),
        "`#anchor`: only JSON pointers such as `#/components/schemas/Pet` are supported after `#`"
    );
}

#[test]
fn the_address_of_a_server_has_its_host_and_no_own_port() {
    let server = |url: &str| parse_server(url).map(|server| (server.base, server.host));
    for (url, base, host) in [
        (
            "https://API.example/v1/",
            "https://api.example/v1",
            "api.example",
        ),
        (
            "https://api.example:443",
            "https://api.example",
            "api.example",
        ),
        (
            "http://api.example:8080/a?b=c",
            "http://api.example:8080/a",
            "api.example:8080",
        ),
        ("http://[::1]:5000", "http://[::1]:5000", "[::1]:5000"),
    ] {
        assert_eq!(server(url), Ok((base.to_owned(), host.to_owned())), "{url}");
    }
    for refused in [
        "ftp://api.example",
        "https://",
        "https://user@api.example",
        "https://{host}/v1",
        "/v1",
        "https://api.example:99999",
    ] {
        assert_eq!(server(refused), Err(LocationError::NoAddress), "{refused}");
    }
}

/// Each of them is a request, also if it fails.
#[test]
fn a_document_asks_for_a_bounded_number_of_others() {
    let references: Vec<serde_json::Value> = (0..2 * IMPORT_DOCUMENTS)
        .map(|number| serde_json::json!({ "$ref": format!("{number:05}.json") }))
        .collect();
    let text = serde_json::Value::from(references).to_string();
    let mut documents = set(Location::file("a.json"), &text, &[]);
    let wanted = documents.wanted();
    assert_eq!(wanted.len(), IMPORT_DOCUMENTS - 1);
    for location in wanted {
        documents.refuse(location, "absent");
    }
    assert!(documents.wanted().is_empty());
    let beyond = documents.target(0, "00999.json").unwrap_err().to_string();
    assert!(beyond.contains("IMPORT_DOCUMENTS"), "{beyond}");
}

#[test]
fn documents_are_bounded() {
    let long = format!("\"{}\"", "x".repeat(IMPORT_BYTES));
    let opened = DocumentSet::open(Location::file("a.json"), &long, []);
    assert!(matches!(opened, Err(DocumentError::Bytes { .. })));
    let deep = "[".repeat(1_000) + &"]".repeat(1_000);
    let opened = DocumentSet::open(Location::file("a.json"), &deep, []);
    assert!(matches!(opened, Err(DocumentError::Text(_))));
}
