//! The caller as it is shown to itself.

use charter_contract::identity::Rights;
use charter_contract::ids::{Label, TenantId, UserId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::EngineError;
use crate::identity::caller::{AccessScopes, Caller, CatalogueRole, Role, SkillGrants, Tier};
use crate::identity::quotas::{QuotaView, TenantQuotas};

/// The identity, rights and quotas of a caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Caller")]
pub struct CallerView {
    /// The tenant whose data it sees.
    pub tenant: TenantId,
    /// The user within the tenant.
    pub user: UserId,
    /// The level: `user`, `operator` or `admin`.
    pub role: Role,
    /// The tier up to which it is served.
    pub tier: Tier,
    /// Its catalogue role.
    pub catalogue: CatalogueRole,
    /// The skills of the link graph that it may reach.
    #[schemars(with = "Vec<String>")]
    pub agent_skills: SkillGrants,
    /// The parts of the interface that its credential opens; `["*"]` is all.
    #[schemars(with = "Vec<String>")]
    pub scopes: AccessScopes,
    /// The profile that narrows the agents whose skills it is served; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Label>,
    /// The quotas of its tenant, and their use.
    pub quota: QuotaView,
}

impl CallerView {
    /// Returns the view of a caller.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn load(caller: &Caller, quotas: &TenantQuotas) -> Result<Self, EngineError> {
        let Rights {
            role,
            tier,
            catalogue,
            agent_skills,
            scopes,
            profile,
        } = caller.rights();
        Ok(Self {
            tenant: caller.tenant.clone(),
            user: caller.user.clone(),
            role,
            tier,
            catalogue,
            agent_skills,
            scopes,
            profile,
            quota: quotas.usage(&caller.tenant).await?,
        })
    }
}
