//! Callers for the tests of other modules.

use super::*;

/// A caller of the tenant `acme` with this role and the catalogue role that goes with it.
pub(crate) fn caller(user: &str, role: Role) -> Caller {
    Caller {
        tenant: TenantId::parse("acme").unwrap(),
        user: UserId::parse(user).unwrap(),
        role,
        tier: Tier::Basic,
        catalogue: CatalogueRole::of(role),
        agent_skills: SkillGrants::All,
        scopes: AccessScopes::All,
        credential: CredentialId::Local,
        makers: BTreeSet::new(),
    }
}

/// An operator of the tenant `acme`.
pub(crate) fn person(name: &str) -> Caller {
    caller(name, Role::Operator)
}
