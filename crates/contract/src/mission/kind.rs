//! The ten kinds of artifacts by their `schema_name`.

string_enum! {
    /// A kind of artifact.
    pub enum ArtifactKind {
        /// 002 §4.
        MissionEnvelope = "mission_envelope",
        /// 002 §5.
        MissionTaskGraph = "mission_task_graph",
        /// 002 §6.
        PromptPackage = "prompt_package",
        /// 002 §7.
        ResearchArtifact = "research_artifact",
        /// 002 §8.
        LibrarianPass = "librarian_pass",
        /// 002 §9.
        WorkerResult = "worker_result",
        /// 002 §10.
        AggregationPacket = "aggregation_packet",
        /// 002 §11.
        ReviewPacket = "review_packet",
        /// 002 §12.
        PolicyDecision = "policy_decision",
        /// 002 §13.
        WritebackProposal = "writeback_proposal",
    }
}
