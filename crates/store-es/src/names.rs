//! Names on the node. Each generation of the index has a state index, `agent_skills-7f`, and an index for each scope,
//! `agent_skills-7f.tenant-acme`. Of the current generation, the configured name is the alias of all scopes' indexes,
//! `agent_skills.tenant-acme` that of one of them, and `agent_skills-state` that of the state.

use charter_contract::hex;
use charter_contract::scope::Scope;
use sha2::{Digest, Sha256};

/// Longest id of a tenant that is a part of a name as it is, in bytes.
const MAX_PLAIN_ID: usize = 64;

/// Bytes of the hash that replaces any other id.
const HASH_BYTES: usize = 16;

/// Between the name of a generation, or an alias, and the label of a scope.
const SEPARATOR: char = '.';

/// Returns the alias of the current generation's state.
pub(crate) fn state_alias(alias: &str) -> String {
    format!("{alias}-state")
}

/// Returns the alias for writes to an index, which is deleted with it.
pub(crate) fn writes(index: &str) -> String {
    format!("{index}-writes")
}

/// Returns the index of a scope in a generation; of an alias, the alias of that scope.
pub(crate) fn of_scope(base: &str, scope: &Scope) -> String {
    format!("{base}{SEPARATOR}{}", label(scope))
}

/// Returns the alias of a scope for its index in a generation.
pub(crate) fn scope_alias(alias: &str, generation: &str, index: &str) -> String {
    let label = index.strip_prefix(generation).unwrap_or_default();
    format!("{alias}{label}")
}

/// Returns the pattern for the indexes of a generation's scopes.
pub(crate) fn every_scope(generation: &str) -> String {
    format!("{generation}{SEPARATOR}*")
}

/// Returns the generation of an index; `None` for an index under another alias.
pub(crate) fn generation<'i>(alias: &str, index: &'i str) -> Option<&'i str> {
    let name = index.split(SEPARATOR).next()?;
    let tag = name.strip_prefix(alias)?.strip_prefix('-')?;
    let is_tag = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (!tag.is_empty() && tag.bytes().all(is_tag)).then_some(name)
}

/// Whether an index is that of a scope.
pub(crate) fn is_of_scope(index: &str) -> bool {
    index.contains(SEPARATOR)
}

fn label(scope: &Scope) -> String {
    let Some(tenant) = scope.tenant() else {
        return "global".to_owned();
    };
    let id = tenant.as_str();
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    if id.len() <= MAX_PLAIN_ID && id.bytes().all(is_plain) {
        return format!("tenant-{id}");
    }
    let hash = Sha256::digest(id.as_bytes());
    format!("hash-{}", hex::encode(&hash[..HASH_BYTES]))
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::TenantId;

    use super::*;

    fn tenant(id: &str) -> Scope {
        Scope::Tenant(TenantId::parse(id).unwrap())
    }

    #[test]
    fn each_scope_has_a_valid_name_of_its_own() {
        let of = |scope: &Scope| of_scope("agent_skills", scope);
        assert_eq!(of(&Scope::Global), "agent_skills.global");
        assert_eq!(of(&tenant("acme_1")), "agent_skills.tenant-acme_1");
        let odd = ["ACME", "acme.com", "global.x"].map(|id| of(&tenant(id)));
        for name in &odd {
            assert!(name.starts_with("agent_skills.hash-"), "{name}");
            assert_eq!(name.len(), "agent_skills.hash-".len() + 2 * HASH_BYTES);
        }
        assert!(odd[0] != odd[1] && odd[1] != odd[2]);
        assert_eq!(of(&tenant(&"a".repeat(65))).len(), odd[0].len());
    }

    #[test]
    fn an_index_of_another_alias_is_not_taken_for_a_generation() {
        let of = |index: &'static str| generation("agent_skills", index);
        assert_eq!(of("agent_skills-7f"), Some("agent_skills-7f"));
        assert_eq!(of("agent_skills-7f.global"), Some("agent_skills-7f"));
        for other in [
            "agent_skills",
            "agent_skills-",
            "agent_skills-test-7f",
            "other-7f",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        let alias = scope_alias(
            "agent_skills",
            "agent_skills-7f",
            "agent_skills-7f.tenant-a",
        );
        assert_eq!(alias, "agent_skills.tenant-a");
    }
}
