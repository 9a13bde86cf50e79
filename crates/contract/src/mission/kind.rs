//! The ten kinds of artifacts, by their `schema_name`.

string_enum! {
    /// Kind of an artifact.
    pub enum ArtifactKind {
        /// Mission envelope (002 §4).
        MissionEnvelope = "mission_envelope",
        /// Task graph (002 §5).
        MissionTaskGraph = "mission_task_graph",
        /// Prompt package (002 §6).
        PromptPackage = "prompt_package",
        /// Research artifact (002 §7).
        ResearchArtifact = "research_artifact",
        /// Librarian pass (002 §8).
        LibrarianPass = "librarian_pass",
        /// Worker result (002 §9).
        WorkerResult = "worker_result",
        /// Aggregation packet (002 §10).
        AggregationPacket = "aggregation_packet",
        /// Review packet (002 §11).
        ReviewPacket = "review_packet",
        /// Policy decision (002 §12).
        PolicyDecision = "policy_decision",
        /// Write-back proposal (002 §13).
        WritebackProposal = "writeback_proposal",
    }
}
