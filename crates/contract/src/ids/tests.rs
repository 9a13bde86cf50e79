//! Tables and properties of the identifiers.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

#[test]
fn catalogue_ids_use_the_safe_alphabet() {
    for good in [
        "a",
        "0",
        "aws.describe_security_groups",
        "SQL_SKILL",
        "soc2.cc6.1",
        "fnd_...",
    ] {
        assert_eq!(SkillId::parse(good).map(String::from), Ok(good.to_owned()));
    }
    for bad in [
        "",
        ".a",
        "_a",
        "-a",
        "a b",
        "a/b",
        "é",
        "a\n",
        &"a".repeat(201),
    ] {
        assert!(SkillId::parse(bad).is_err(), "{bad:?}");
    }
    assert!(SkillId::parse(&"a".repeat(200)).is_ok());
}

#[test]
fn an_id_error_names_the_expected_form() {
    assert_eq!(
        ToolId::parse("a b").map_err(|error| error.to_string()),
        Err(
            "`a b` is not a ToolId: expected 1 to 200 letters, digits, `.`, `_` or `-`, \
             starting with a letter or digit"
                .to_owned()
        )
    );
}

#[test]
fn prefixed_ids_are_strict_and_carry_their_uuid() {
    let uuid = Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0001);
    let id = RequestId::from_uuid(uuid);
    assert_eq!(id.as_str(), "req-01930000-0000-7000-8000-000000000001");
    assert_eq!(id.uuid(), uuid);
    for bad in [
        "01930000-0000-7000-8000-000000000001",
        "req-01930000-0000-7000-8000-00000000000A",
        "req-01930000-0000-7000-8000-0000000000010",
        "req-01930000000070008000000000000001",
        "sess-01930000-0000-7000-8000-000000000001",
    ] {
        assert!(RequestId::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn evidence_ids_made_from_uuids_sort_by_time() {
    let earlier = EvidenceId::from_uuid(Uuid::from_u128(1 << 80));
    let later = EvidenceId::from_uuid(Uuid::from_u128(2 << 80));
    assert!(earlier < later);
    assert_eq!(earlier.as_str(), "ev_00000000010000000000000000");
    assert!(EvidenceId::parse("ev_01HX...").is_ok());
    assert!(EvidenceId::parse("ev_").is_err());
}

/// An id that Charter derives is no ULID, so that no submitted record can have it.
#[test]
fn derived_evidence_ids_are_apart_from_ulids() {
    for bits in [0, 7, u128::MAX] {
        let uuid = Uuid::from_u128(bits);
        let (derived, made) = (EvidenceId::derived(uuid), EvidenceId::from_uuid(uuid));
        assert!(derived.is_derived(), "{derived}");
        assert!(!made.is_derived(), "{made}");
        assert_eq!(EvidenceId::parse(derived.as_str()).as_ref(), Ok(&derived));
    }
    let derived = EvidenceId::derived(Uuid::from_u128(1));
    assert_eq!(derived.as_str(), "ev_80000000000000000000000001");
    for given in [
        "ev_01HX...",
        "ev_8",
        "ev_note-2026-08",
        "ev_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    ] {
        assert!(!EvidenceId::parse(given).unwrap().is_derived(), "{given}");
    }
}

/// Ruling 25: each contract accepts only its own form, with an explicit mapping between families.
#[test]
fn ruling_25_families_map_explicitly() {
    let tool = ToolId::parse("aws.describe_security_groups").unwrap();
    assert_eq!(
        ToolDefinitionId::from_tool_id(&tool).as_str(),
        "tool-aws-describe-security-groups"
    );
    let defined = ToolDefinitionId::parse("tool-tool-1").unwrap();
    let catalogued = defined.to_tool_id().unwrap();
    assert_eq!(catalogued.as_str(), "tool-1");
    assert_eq!(ToolDefinitionId::from_tool_id(&catalogued), defined);
    assert!(
        ToolDefinitionId::parse("tool--x")
            .unwrap()
            .to_tool_id()
            .is_err()
    );
    let request = RequestId::from_uuid(Uuid::from_u128(7));
    let tag = TagRequestId::from_request_id(&request);
    assert_eq!(tag.as_str(), "req_00000000000000000000000000000007");
    assert_eq!(tag.to_request_id(), Some(request));
    assert_eq!(
        TagRequestId::parse("req_abc123").unwrap().to_request_id(),
        None
    );
    let session = SessionId::from_uuid(Uuid::from_u128(9));
    assert_eq!(
        TagSessionId::from_session_id(&session).to_session_id(),
        Some(session)
    );
}

proptest! {
    #[test]
    fn every_tool_id_maps_to_a_valid_definition_id(text in "[A-Za-z0-9][A-Za-z0-9._-]{0,199}") {
        let tool = ToolId::parse(&text).unwrap();
        let mapped = ToolDefinitionId::from_tool_id(&tool);
        prop_assert!(ToolDefinitionId::parse(mapped.as_str()).is_ok());
    }

    #[test]
    fn parse_and_json_schema_pattern_agree(text in "(req-|ev_|step-|tool-|req_|sess_)?[a-zA-Z0-9._ -]{0,40}") {
        check_agreement::<SkillId>(&text, SkillId::parse(&text).is_ok())?;
        check_agreement::<RequestId>(&text, RequestId::parse(&text).is_ok())?;
        check_agreement::<EvidenceId>(&text, EvidenceId::parse(&text).is_ok())?;
        check_agreement::<PlanStepId>(&text, PlanStepId::parse(&text).is_ok())?;
        check_agreement::<ToolDefinitionId>(&text, ToolDefinitionId::parse(&text).is_ok())?;
        check_agreement::<TagRequestId>(&text, TagRequestId::parse(&text).is_ok())?;
    }
}

fn check_agreement<T: schemars::JsonSchema>(text: &str, parsed: bool) -> Result<(), TestCaseError> {
    let schema = schemars::schema_for!(T).to_value();
    let valid = jsonschema::is_valid(&schema, &serde_json::Value::from(text));
    prop_assert_eq!(parsed, valid, "{} {:?}", T::schema_name(), text);
    Ok(())
}
