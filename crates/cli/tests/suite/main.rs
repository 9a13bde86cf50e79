//! The binary as a user sees it: `charter serve` in its own process over a data directory, used over HTTP and by the
//! commands. Knows nothing of the crates inside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test ends at the first surprise, and literals read better by value"
)]

mod clients;
mod home;
mod packages;
mod service;
mod shared;
mod site;
mod watched;

mod a2a;
mod addresses;
mod approvals;
mod authorization;
mod backup;
mod bad_input;
mod builtin;
mod candidates;
mod catalogue;
mod chaos;
mod command_line;
mod commands;
mod crash;
mod credentials;
mod described;
mod dev;
mod errors;
mod events;
mod evidence;
mod evidence_log;
mod executor;
mod expert_graph;
mod fairness;
mod flows;
mod gate;
mod guardrails;
mod guides;
mod hostile;
mod image;
mod import_api;
mod intent;
mod isolation;
mod keycloak;
mod keys;
mod lenses;
mod lists;
mod mcp;
mod mcp_servers;
mod memories;
mod memory_use;
mod mission_types;
mod missions;
mod models;
mod nightly;
mod notifications;
mod oidc;
mod openapi;
mod overlay;
mod plans;
mod playbooks;
mod policies;
mod profiles;
mod quickstart;
mod quotas;
mod registration;
mod remediation;
mod replicas;
mod reported;
mod requests;
mod results;
mod route_examples;
mod routing;
mod run_evidence;
mod same_call;
mod schedules;
mod scopes;
mod secrets;
mod seeds;
mod sessions;
mod sign_in;
mod skill_index;
mod skill_scripts;
mod skills;
mod skills_import;
mod snapshots;
mod tags;
mod telemetry;
mod templates;
mod tenants;
mod tools;
mod unknown_ids;
mod upgrade;
mod web_search;
