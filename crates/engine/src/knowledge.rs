//! Knowledge that answers questions beside skills: lenses, the expert graph, memories and agent skills.

pub(crate) mod agent_skills;
pub(crate) mod expert_graph;
pub(crate) mod lenses;
pub(crate) mod look_up;
pub(crate) mod memory;
