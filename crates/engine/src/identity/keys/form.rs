//! What is asked for and shown of keys.

use charter_contract::identity::{AccessScope, AccessScopes, CatalogueRole, KeyHolder, Rights};
use charter_contract::ids::{KeyId, Label, TenantId, UserId};
use charter_contract::text::ShortText;
use charter_contract::time::Timestamp;
use charter_store::key::KeyRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KeyText, LONGEST_OVERLAP_S, MAX_LIFETIME_S};
use crate::{Role, SkillGrants, Tier};

/// A key that is to be made. What is not said is the least: a `user` of the basic tier who looks at the
/// catalogue; but every scope that its maker has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyOrder {
    /// What people call it.
    pub name: ShortText,
    /// Whom it stands for; who makes it when absent.
    #[serde(default)]
    pub user: Option<UserId>,
    /// The level; `user` when absent.
    #[serde(default)]
    pub role: Role,
    /// The tier; `basic` when absent.
    #[serde(default)]
    pub tier: Tier,
    /// The role in the catalogue; the one that goes with the level when absent.
    #[serde(default)]
    pub catalogue: Option<CatalogueRole>,
    /// Skills of the link graph; when absent all for operators and admins, none for users.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub agent_skills: Option<SkillGrants>,
    /// Who acts with it; a person when absent. An agent's key does not decide on approvals.
    #[serde(default, rename = "for")]
    pub holder: KeyHolder,
    /// Parts of the interface; those of its maker when absent, for an agent without `approvals:write`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>", inner(regex(pattern = scope_pattern())))]
    pub scopes: Option<AccessScopes>,
    /// The profile that narrows the agents whose skills it is served; that of its maker when absent.
    #[serde(default)]
    pub profile: Option<Label>,
    /// For how long it lets in, in seconds; for ever when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_LIFETIME_S))]
    pub expires_in_s: Option<u64>,
}

/// A scope, or all of them.
fn scope_pattern() -> String {
    let names = AccessScope::ALL.iter().map(|scope| scope.as_str());
    let names: Vec<&str> = names.collect();
    format!(r"^(\*|{})$", names.join("|"))
}

/// How a key is to be replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRotation {
    /// For how long the old one still lets in, in seconds.
    #[serde(default)]
    #[schemars(range(max = LONGEST_OVERLAP_S))]
    pub overlap_s: u64,
    /// For how long the new one lets in, in seconds; as long as the old one was made for when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_LIFETIME_S))]
    pub expires_in_s: Option<u64>,
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Key")]
pub struct KeyView {
    /// Its id.
    pub key_id: KeyId,
    /// Whose data it sees.
    pub tenant_id: TenantId,
    /// What people call it.
    pub name: ShortText,
    /// Whether it lets in.
    pub state: KeyState,
    /// Whom it stands for.
    pub user: UserId,
    /// What it lets that user do.
    #[serde(flatten)]
    pub rights: Rights,
    /// Who made it.
    pub created_by: UserId,
    /// When.
    pub created_at: Timestamp,
    /// From when on it lets nobody in.
    pub expires_at: Option<Timestamp>,
    /// When it last let somebody in, to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Who revoked it.
    pub revoked_by: Option<UserId>,
    /// The key whose place it took.
    pub rotated_from: Option<KeyId>,
}

/// What an event says of a key: who did what to it. It names no secret, nor anything made from one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OfKey")]
pub struct KeyEventRef {
    /// The key.
    pub key_id: KeyId,
    /// What people call it.
    pub name: ShortText,
    /// Whom it stands for.
    pub user: UserId,
    /// Who did it.
    pub by: UserId,
    /// What the key lets its user do.
    pub rights: Rights,
    /// The key whose place it took.
    pub rotated_from: Option<KeyId>,
}

/// Whether a key lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It does.
    Live,
    /// Its time is over.
    Expired,
    /// Somebody ended it.
    Revoked,
}

/// A new key with its text, which is not shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NewKey")]
pub struct NewKey {
    /// What its holder keeps and sends.
    #[schemars(with = "String")]
    pub secret: KeyText,
    /// The key.
    #[serde(flatten)]
    pub key: KeyView,
}

/// One page of keys.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "KeyPage")]
pub struct KeyPage {
    /// Newest first.
    pub entries: Vec<KeyView>,
    /// Where the next page starts.
    pub next: Option<String>,
}

impl KeyView {
    pub(super) fn new(key: KeyRecord, now: Timestamp) -> Self {
        let state = match (&key.revoked, key.is_live(now)) {
            (Some(_), _) => KeyState::Revoked,
            (None, true) => KeyState::Live,
            (None, false) => KeyState::Expired,
        };
        let (revoked_at, revoked_by) = key.revoked.map(|end| (end.at, end.by)).unzip();
        Self {
            key_id: key.key_id,
            tenant_id: key.tenant_id,
            name: key.name,
            state,
            user: key.user_id,
            rights: key.rights,
            created_by: key.created_by,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            revoked_at,
            revoked_by,
            rotated_from: key.rotated_from,
        }
    }
}
