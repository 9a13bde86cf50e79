//! The names of `requested_outputs` (002 §4.2 shows two of them; the others are the kinds of artifacts).

string_enum! {
    /// An output that a mission may be asked for.
    pub enum RequestedOutput {
        /// The summary of an approved review.
        ReviewedSummary = "reviewed_summary",
        /// A task graph.
        MissionTaskGraph = "mission_task_graph",
        /// A prompt package.
        PromptPackage = "prompt_package",
        /// Results of a search of external sources.
        ResearchArtifact = "research_artifact",
        /// A pass to internal data.
        LibrarianPass = "librarian_pass",
        /// The result of a worker.
        WorkerResult = "worker_result",
        /// The combined results.
        AggregationPacket = "aggregation_packet",
        /// The outcome of the review, also of a rejecting one.
        ReviewPacket = "review_packet",
        /// The decision of a policy.
        PolicyDecision = "policy_decision",
        /// A proposed change.
        WritebackProposal = "writeback_proposal",
    }
}
