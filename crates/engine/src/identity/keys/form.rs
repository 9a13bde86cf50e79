//! The input and output forms of keys.

use charter_contract::identity::{AccessScope, AccessScopes, CatalogueRole, KeyHolder, Rights};
use charter_contract::ids::{KeyId, Label, TenantId, UserId};
use charter_contract::text::ShortText;
use charter_contract::time::Timestamp;
use charter_store::key::KeyRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KeyText, LONGEST_OVERLAP_S, MAX_LIFETIME_S};
use crate::{Role, SkillGrants, Tier};

/// A request for a key. Defaults are the least: a `user` of the basic tier with read access to the catalogue; but every
/// scope of its maker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyOrder {
    /// Its readable name.
    pub name: ShortText,
    /// The user that it authenticates; its maker when absent.
    #[serde(default)]
    pub user: Option<UserId>,
    /// The level; `user` when absent.
    #[serde(default)]
    pub role: Role,
    /// The tier; `basic` when absent.
    #[serde(default)]
    pub tier: Tier,
    /// The catalogue role; the default of the level when absent.
    #[serde(default)]
    pub catalogue: Option<CatalogueRole>,
    /// Skills of the link graph; when absent all for operators and admins, none for users.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub agent_skills: Option<SkillGrants>,
    /// The holder; a person when absent. An agent's key does not decide on approvals.
    #[serde(default, rename = "for")]
    pub holder: KeyHolder,
    /// Parts of the interface; those of its maker when absent, for an agent without `approvals:write`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>", inner(regex(pattern = scope_pattern())))]
    pub scopes: Option<AccessScopes>,
    /// The profile that restricts the agents whose skills it may use; that of its maker when absent.
    #[serde(default)]
    pub profile: Option<Label>,
    /// Lifetime in seconds; unlimited when absent.
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

/// Options of a key's replacement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRotation {
    /// How long the old key remains valid, in seconds.
    #[serde(default)]
    #[schemars(range(max = LONGEST_OVERLAP_S))]
    pub overlap_s: u64,
    /// Lifetime of the new key in seconds; that of the old one when absent.
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
    /// The tenant whose data it sees.
    pub tenant_id: TenantId,
    /// Its readable name.
    pub name: ShortText,
    /// Whether it is valid.
    pub state: KeyState,
    /// The user that it authenticates.
    pub user: UserId,
    /// The rights that it gives that user.
    #[serde(flatten)]
    pub rights: Rights,
    /// The user who made it.
    pub created_by: UserId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The user who revoked it.
    pub revoked_by: Option<UserId>,
    /// The key that it replaced.
    pub rotated_from: Option<KeyId>,
}

/// The data of an event about a key: the user, the change and the key. It contains no secret, nor anything derived from
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KeyEventRef")]
pub struct KeyEventRef {
    /// The key.
    pub key_id: KeyId,
    /// Its readable name.
    pub name: ShortText,
    /// The user that it authenticates.
    pub user: UserId,
    /// The user who did it.
    pub by: UserId,
    /// The rights that the key gives its user.
    pub rights: Rights,
    /// The key that it replaced.
    pub rotated_from: Option<KeyId>,
}

/// Whether a key is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It is valid.
    Live,
    /// Its lifetime is over.
    Expired,
    /// It was revoked.
    Revoked,
}

/// A new key with its text, which is not shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NewKey")]
pub struct NewKey {
    /// The text that its holder stores and sends.
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
    /// Cursor to the next page.
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
