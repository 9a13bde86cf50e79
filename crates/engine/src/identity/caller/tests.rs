//! Callers for the tests of other modules.

use super::*;

/// A caller of the tenant `acme` with this role and the matching catalogue role.
pub(crate) fn caller(user: &str, role: Role) -> Caller {
    Caller {
        tenant: TenantId::parse("acme").unwrap(),
        user: UserId::parse(user).unwrap(),
        role,
        tier: Tier::Basic,
        catalogue: CatalogueRole::default_for(role),
        agent_skills: SkillGrants::All,
        scopes: AccessScopes::All,
        profile: None,
        credential: CredentialId::Local,
        makers: BTreeSet::new(),
    }
}

/// An operator of the tenant `acme`.
pub(crate) fn person(name: &str) -> Caller {
    caller(name, Role::Operator)
}

/// A user sees only its own data; operators see the tenant's data, including data without a known user.
#[test]
fn a_user_sees_its_own() {
    let id = |name: &str| UserId::parse(name).unwrap();
    for (role, sees) in [
        (Role::User, [true, false, false]),
        (Role::Operator, [true, true, true]),
        (Role::Admin, [true, true, true]),
    ] {
        let ann = caller("ann", role);
        let owners = [Some(id("ann")), Some(id("bob")), None];
        assert_eq!(owners.map(|owner| ann.sees(owner.as_ref())), sees, "{role}");
    }
}
