//! The entity types of the schema, and the entities of a request. A test compares the names with the schema.

use cedar_policy::{EntityId, EntityTypeName, EntityUid};

pub(super) const CALLER: &str = "Caller";
pub(super) const TOOL: &str = "Tool";
pub(super) const RUN: &str = "Run";

/// Returns whether an entity is an action.
pub(super) fn is_action(uid: &EntityUid) -> bool {
    uid.type_name().basename() == "Action"
}

/// The parsed entity types, because Cedar parses a name each time that it is passed as text.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) caller: EntityTypeName,
    pub(super) role: EntityTypeName,
    pub(super) tool: EntityTypeName,
    pub(super) tool_class: EntityTypeName,
    pub(super) permission_level: EntityTypeName,
    pub(super) run: EntityTypeName,
    pub(super) run_kind: EntityTypeName,
    pub(super) risk_level: EntityTypeName,
    pub(super) action: EntityTypeName,
}

impl Names {
    /// # Errors
    /// When Cedar rejects one of the names.
    pub(super) fn read() -> Result<Self, String> {
        let name = |text: &str| text.parse::<EntityTypeName>().map_err(|e| e.to_string());
        Ok(Self {
            caller: name(CALLER)?,
            role: name("Role")?,
            tool: name(TOOL)?,
            tool_class: name("ToolClass")?,
            permission_level: name("PermissionLevel")?,
            run: name(RUN)?,
            run_kind: name("RunKind")?,
            risk_level: name("RiskLevel")?,
            action: name("Action")?,
        })
    }
}

/// Returns the entity `kind::"id"`, for any characters in the id.
pub(super) fn entity(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}
