use std::time::Duration;

use charter_contract::identity::CatalogueRole;

use super::*;
use crate::{AccessScopes, Role, SkillGrants, Tier};

fn rights(role: Role) -> Rights {
    Rights {
        role,
        tier: Tier::Basic,
        catalogue: CatalogueRole::default_for(role),
        agent_skills: SkillGrants::default_for(role),
        scopes: AccessScopes::All,
        profile: None,
    }
}

fn grant(claim: &str, value: &str, role: Role) -> ClaimGrant {
    ClaimGrant {
        when: Some((Claim::new(claim.to_owned()), value.to_owned())),
        rights: rights(role),
    }
}

fn provider() -> Provider {
    let hour = Duration::from_secs(3_600);
    Provider {
        issuer: IssuerOptions {
            issuer: "https://id.example.com".to_owned(),
            audiences: vec!["charter".to_owned()],
            jwks_url: None,
            algorithms: Vec::new(),
            leeway: hour,
            max_age: hour,
            stale: hour,
            refresh: hour,
            timeout: hour,
        },
        tenancy: Tenancy::Claimed {
            claim: Claim::new("/org/name".to_owned()),
            tenants: ["acme", "umbra"]
                .map(|name| TenantId::parse(name).unwrap())
                .into(),
        },
        user: Claim::new("sub".to_owned()),
        grants: vec![
            grant("groups", "admins", Role::Admin),
            grant("/realm~1access/roles", "operator", Role::Operator),
            grant("scope", "charter.use", Role::User),
        ],
        scopes: vec!["openid".to_owned()],
        console: None,
    }
}

fn caller(changed: &Value) -> Result<Caller, EngineError> {
    let mut claims = json!({"sub": "ann", "org": {"name": "acme"}, "groups": ["staff", "admins"]});
    for (claim, value) in changed.as_object().unwrap() {
        claims[claim] = value.clone();
    }
    provider().caller(claims.as_object().unwrap())
}

/// The first grant that applies counts; a claim is a text, a list, or the words of a text.
#[test]
fn the_first_matching_grant_decides() {
    for (claims, role) in [
        (json!({}), Role::Admin),
        (json!({"groups": "admins"}), Role::Admin),
        (
            json!({"groups": [], "realm/access": {"roles": ["operator"]}, "scope": "charter.use"}),
            Role::Operator,
        ),
        (
            json!({"groups": null, "scope": "openid charter.use"}),
            Role::User,
        ),
    ] {
        let caller = caller(&claims).unwrap();
        assert_eq!(caller.rights(), rights(role), "{claims}");
        assert_eq!(
            (caller.tenant.as_str(), caller.user.as_str()),
            ("acme", "ann")
        );
    }
}

/// There are no implicit rights: a claim that is no text, names another tenant, or matches no grant is refused.
#[test]
fn who_is_not_named_or_granted_anything_is_refused() {
    use ErrorCode::{PermissionDenied, Unauthenticated};
    for (claims, code) in [
        (json!({"sub": null}), Unauthenticated),
        (json!({"sub": 7}), Unauthenticated),
        (json!({"sub": ""}), Unauthenticated),
        (json!({"org": "acme"}), Unauthenticated),
        (json!({"org": {"name": "other"}}), Unauthenticated),
        (json!({"org": {"name": ["acme"]}}), Unauthenticated),
        (json!({"groups": ["administrators"]}), PermissionDenied),
        (json!({"groups": {"admins": true}}), PermissionDenied),
        (
            json!({"groups": [], "scope": "charter.used"}),
            PermissionDenied,
        ),
        (
            json!({"groups": [], "realm": {"access": {"roles": ["operator"]}}}),
            PermissionDenied,
        ),
    ] {
        assert_eq!(caller(&claims).unwrap_err().code, code, "{claims}");
    }
}

#[test]
fn clients_request_each_scope_once_in_the_order_of_the_configuration() {
    let of = |names: &[&str]| Provider {
        scopes: names.iter().map(|name| (*name).to_owned()).collect(),
        ..provider()
    };
    let providers = [of(&["openid", "email"]), of(&[]), of(&["groups", "openid"])];
    assert_eq!(scopes(&providers), ["openid", "email", "groups"]);
}
