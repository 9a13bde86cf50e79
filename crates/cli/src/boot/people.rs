//! The users that the configuration admits, by tenant, and the approvers among them. Their credentials have no maker.

use std::collections::BTreeMap;

use charter_contract::ids::TenantId;
use charter_domain::person::CredentialUser;
use charter_engine::Approvers;

use crate::config::{Config, OidcConfig, PersonConfig};

/// The people of a tenant.
#[derive(Debug, Default)]
pub(crate) struct People {
    /// All users.
    pub(crate) all: Vec<CredentialUser>,
    /// The users who decide on approvals.
    pub(crate) approvers: Vec<CredentialUser>,
    /// Whether an identity provider admits approvers.
    pub(crate) provided: bool,
}

impl People {
    /// The people of the configuration, by tenant.
    pub(crate) fn configured(config: &Config) -> BTreeMap<TenantId, Self> {
        let mut tenants: BTreeMap<TenantId, Self> = BTreeMap::new();
        for key in &config.auth.keys {
            let people = tenants.entry(key.tenant.clone()).or_default();
            let person = CredentialUser::known(key.user.clone());
            if key.granted.rights().decides() {
                people.approvers.push(person.clone());
            }
            people.all.push(person);
        }
        for (tenant, person) in slack_people(config) {
            let decider = CredentialUser::known(person.user.clone());
            tenants
                .entry(tenant.clone())
                .or_default()
                .approvers
                .push(decider);
        }
        for provider in &config.auth.oidc {
            let decides = |provider: &OidcConfig| {
                let mut grants = provider.grants.iter();
                grants.any(|grant| grant.granted.rights().decides())
            };
            for tenant in provider.tenant.iter().chain(&provider.tenants) {
                tenants.entry(tenant.clone()).or_default().provided |= decides(provider);
            }
        }
        tenants
    }
}

/// The people who decide in Slack, each with the tenant.
fn slack_people(config: &Config) -> impl Iterator<Item = (&TenantId, &PersonConfig)> {
    let notifications = &config.notifications;
    let shared = notifications.channels.values();
    let shared = shared.map(|channel| (None, channel));
    let own = notifications.tenants.iter().flat_map(|(tenant, own)| {
        own.channels
            .values()
            .map(move |channel| (Some(tenant), channel))
    });
    shared.chain(own).flat_map(|(tenant, channel)| {
        let people = channel.people.iter();
        people.filter_map(move |person| Some((tenant.or(person.tenant.as_ref())?, person)))
    })
}

/// The approvers of the configuration, for the engine.
pub(super) fn approvers(config: &Config) -> Approvers {
    let mut approvers = Approvers::default();
    for (tenant, people) in People::configured(config) {
        if people.provided {
            approvers.provided.insert(tenant.clone());
        }
        let users = people.approvers.into_iter().map(|person| person.user);
        approvers.users.entry(tenant).or_default().extend(users);
    }
    approvers
}
