//! The closed vocabularies that several documents of the catalogue share
//! (seed 000). No document is known here.

pub use crate::severity::Severity;

string_enum! {
    /// Service tier (000).
    #[derive(Default)]
    pub enum Tier {
        /// Routing, skills, playbooks.
        #[default]
        Basic = "basic",
        /// Also domain lenses and the expert graph.
        Advanced = "advanced",
    }
}

string_enum! {
    /// Whether a document is offered (000 `status`).
    #[derive(Default)]
    pub enum Status {
        /// In force.
        #[default]
        Active = "active",
        /// Kept, and left out of search and resolve.
        Inactive = "inactive",
    }
}

string_enum! {
    /// Where a playbook comes from (000 §2.8); a skill as well (this project).
    #[derive(Default)]
    pub enum GeneratedBy {
        /// A package.
        #[default]
        Registered = "registered",
        /// The Code Agent, on a miss (this project's word).
        CodeAgent = "code_agent",
    }
}

impl GeneratedBy {
    /// Whether somebody wrote it into a package: what is left out where it need not be said.
    #[must_use]
    pub const fn is_registered(&self) -> bool {
        matches!(self, Self::Registered)
    }
}

string_enum! {
    /// What a step does to the outside world (ruling 11: `read` is stored as `readonly`).
    pub enum StepType {
        /// It only reads.
        Readonly = "readonly" | "read",
        /// It changes something.
        Write = "write",
    }
}

string_enum! {
    /// What the failure of a step does to the run (B000-18).
    #[derive(Default)]
    pub enum OnFailure {
        /// The run fails.
        #[default]
        Stop = "stop",
        /// The completed writes are reversed, last first.
        Rollback = "rollback",
        /// The step and what depends on it are left out.
        Skip = "skip",
        /// The run goes on as if it had succeeded without output.
        Continue = "continue",
    }
}

string_enum! {
    /// Where an effect is carried out (000 §2.4, §2.10).
    #[derive(Default)]
    pub enum ExecutionTarget {
        /// Where the caller's credentials are.
        #[default]
        Client = "client",
        /// In the server.
        Server = "server",
    }
}

string_enum! {
    /// The language of a tool's or script's body (000 §2.4, §2.8).
    pub enum Language {
        /// Python 3.
        Python = "python",
        /// A shell script.
        Bash = "bash",
        /// No body: an HTTP call.
        Http = "http",
        /// No body: Charter itself carries it out (this project).
        Builtin = "builtin",
        /// No body: a registered MCP server carries it out (this project).
        Mcp = "mcp",
    }
}

string_enum! {
    /// What a tool may do (000 §2.4).
    pub enum ToolClass {
        /// Fetches data.
        Readonly = "readonly",
        /// Changes something.
        Write = "write",
        /// For the server's own use; never shown to an agent.
        Internal = "internal",
    }
}

string_enum! {
    /// Who may call a tool, from the least to the most (003 Tool Definition Schema).
    #[derive(Default)]
    pub enum PermissionLevel {
        /// Anyone.
        #[default]
        User = "user",
        /// The system itself.
        System = "system",
        /// Administrators.
        Admin = "admin",
    }
}

string_enum! {
    /// What a caller may do (this project). Each role may do what the ones before it may.
    #[derive(Default)]
    pub enum Role {
        /// Ask, search, read.
        #[default]
        User = "user",
        /// Register packages for the own tenant.
        Operator = "operator",
        /// Register global packages and see the whole server.
        Admin = "admin",
    }
}

impl Role {
    /// Whether a tool of this permission level may be called (seed 003: user < system < admin).
    #[must_use]
    pub fn may_call(self, level: PermissionLevel) -> bool {
        let needed = match level {
            PermissionLevel::User => Self::User,
            PermissionLevel::System => Self::Operator,
            PermissionLevel::Admin => Self::Admin,
        };
        self >= needed
    }
}
