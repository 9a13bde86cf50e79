//! `charter resolve …`

use clap::Subcommand;

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Show what is in force for a skill, agent, domain, tool or output.
#[derive(Debug, Subcommand)]
pub(crate) enum Resolve {
    /// Show the guardrails that apply to a skill, agent or domain.
    Guardrails {
        /// The id of a skill or playbook.
        #[arg(long)]
        skill: Option<String>,
        /// The agent's id.
        #[arg(long)]
        agent: Option<String>,
        /// The domain.
        #[arg(long)]
        domain: Option<String>,
        /// The persona; by default, that of requests without one.
        #[arg(long)]
        persona: Option<String>,
    },
    /// Show the policies that govern a tool.
    Policies {
        /// The tool's id.
        #[arg(long)]
        tool: String,
    },
    /// Show the template for an output.
    Template {
        /// The output type.
        output_type: String,
        /// The skill's id.
        #[arg(long)]
        skill: Option<String>,
        /// The agent's id.
        #[arg(long)]
        agent: Option<String>,
        /// The domain.
        #[arg(long)]
        domain: Option<String>,
        /// The persona; by default, that of requests without one.
        #[arg(long)]
        persona: Option<String>,
    },
    /// Show a skill by id.
    Skill {
        /// The skill's id.
        id: String,
    },
    /// Show a playbook by id.
    Playbook {
        /// The playbook's id.
        id: String,
    },
    /// Show an agent by id.
    Agent {
        /// The agent's id.
        id: String,
    },
    /// Show a tool by id.
    Tool {
        /// The tool's id.
        id: String,
    },
    /// Show a mission type by id.
    MissionType {
        /// The mission type's id.
        id: String,
    },
    /// Show a prompt template by id.
    PromptTemplate {
        /// The prompt template's id.
        id: String,
    },
}

pub(crate) async fn run(command: &Resolve, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = client.get(&path(command)).await;
    client.close().await?;
    let found = found?;
    output::print(format, &found, |found| match command {
        Resolve::Guardrails { .. } => output::rows(
            found,
            &[
                "document.guardrail_id",
                "document.scope",
                "document.enforcement",
                "layer",
                "matched",
            ],
        ),
        Resolve::Policies { .. } => output::rows(
            found,
            &[
                "document.policy_id",
                "document.title",
                "layer",
                "package",
                "package_version",
                "matched",
            ],
        ),
        _ => {
            let document = output::fields(&found["document"]);
            format!(
                "{document}\nlayer {}, package {}",
                found["layer"], found["package"]
            )
        }
    })?;
    Ok(EXIT_OK)
}

fn path(command: &Resolve) -> String {
    match command {
        Resolve::Guardrails {
            skill,
            agent,
            domain,
            persona,
        } => {
            let query = query(&[
                ("skill_id", skill.as_deref()),
                ("agent_id", agent.as_deref()),
                ("domain", domain.as_deref()),
                ("persona", persona.as_deref()),
            ]);
            format!("/v1/resolve/guardrails{query}")
        }
        Resolve::Policies { tool } => {
            format!("/v1/resolve/policies{}", query(&[("tool", Some(tool))]))
        }
        Resolve::Template {
            output_type,
            skill,
            agent,
            domain,
            persona,
        } => {
            let query = query(&[
                ("output_type", Some(output_type)),
                ("skill_id", skill.as_deref()),
                ("agent_id", agent.as_deref()),
                ("domain", domain.as_deref()),
                ("persona", persona.as_deref()),
            ]);
            format!("/v1/resolve/template{query}")
        }
        Resolve::Skill { id } => format!("/v1/resolve/skill/{}", encoded(id)),
        Resolve::Playbook { id } => format!("/v1/resolve/playbook/{}", encoded(id)),
        Resolve::Agent { id } => format!("/v1/resolve/agent/{}", encoded(id)),
        Resolve::Tool { id } => format!("/v1/resolve/tool/{}", encoded(id)),
        Resolve::MissionType { id } => format!("/v1/resolve/mission_type/{}", encoded(id)),
        Resolve::PromptTemplate { id } => format!("/v1/resolve/prompt_template/{}", encoded(id)),
    }
}
