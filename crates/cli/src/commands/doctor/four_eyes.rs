//! Checks that each tenant has a second person who can approve.

use std::collections::BTreeMap;

use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_domain::clock::{Clock, SystemClock};
use charter_domain::person::{CredentialUser, can_be_two};
use charter_store::key::KeyRecord;
use charter_store::page::{MAX_PAGE, PageRequest};
use charter_store::{SharedStore, StoreError};

use super::Check;
use crate::boot::People;
use crate::config::Config;

/// The keys that the store keeps.
pub(super) enum StoredKeys {
    /// The live keys, and whether a key was ever created.
    Read { live: Vec<KeyRecord>, made: bool },
    /// The store was not opened: a server holds it, or it is a database.
    NotRead,
}

impl StoredKeys {
    /// Reads the keys of an open store. A separate check reports a store that cannot be read.
    pub(super) async fn read(store: &SharedStore) -> Self {
        let Ok(clock) = SystemClock::start() else {
            return Self::NotRead;
        };
        let read = async {
            let tenants = store.key_tenants().await?;
            let made = !tenants.is_empty();
            let live = live(store, tenants, clock.now()).await?;
            Ok::<_, StoreError>(Self::Read { live, made })
        };
        read.await.unwrap_or(Self::NotRead)
    }
}

async fn live(
    store: &SharedStore,
    tenants: Vec<TenantId>,
    now: Timestamp,
) -> Result<Vec<KeyRecord>, StoreError> {
    let mut live = Vec::new();
    for tenant in tenants {
        let mut page = PageRequest::new(None, MAX_PAGE);
        loop {
            let found = store.keys(&tenant, &page).await?;
            live.extend(found.entries.into_iter().filter(|key| key.is_live(now)));
            match found.next {
                Some(next) => page = PageRequest::new(Some(next), MAX_PAGE),
                None => break,
            }
        }
    }
    Ok(live)
}

/// One check for each tenant that has credentials.
pub(super) fn checks(config: &Config, keys: &StoredKeys) -> Vec<Check> {
    let (live, made, complete) = match keys {
        StoredKeys::Read { live, made } => (live.as_slice(), *made, true),
        StoredKeys::NotRead => (&[][..], false, false),
    };
    let required = config.approvals.four_eyes;
    let required = required.unwrap_or(made || config.auth.has_credentials());
    let mut tenants: BTreeMap<TenantId, People> = People::configured(config);
    for key in live {
        tenants.entry(key.tenant_id.clone()).or_default().add(key);
    }
    let check = |(tenant, people): (&TenantId, &People)| Check {
        name: "four eyes",
        found: match examine(people, complete) {
            Ok(found) => Ok(format!("{tenant}: {found}")),
            Err(found) if required => Err(format!("{tenant}: {found}")),
            Err(found) => Ok(format!("{tenant}: approvals.four_eyes is off; {found}")),
        },
    };
    tenants.iter().map(check).collect()
}

impl People {
    fn add(&mut self, key: &KeyRecord) {
        let person = CredentialUser {
            user: key.user_id.clone(),
            makers: key.makers.clone(),
        };
        if key.rights.decides() {
            self.approvers.push(person.clone());
        }
        self.all.push(person);
    }
}

/// Examines one tenant; an error if no request has an approver. `complete` is whether all credentials of the tenant are
/// known.
fn examine(people: &People, complete: bool) -> Result<String, String> {
    if people.provided {
        return Ok("an identity provider admits approvers".to_owned());
    }
    if !can_be_two(&people.all, &people.approvers) {
        let missing = "no user can approve another person's request";
        return match complete {
            false => Ok(format!(
                "by the configuration {missing}; the keys of the store were not read"
            )),
            true => Err(format!(
                "{missing}: give two people credentials that neither of them created (a key of the configuration, of \
                 `charter key create` on the data directory, or an identity provider), one of them with the role \
                 operator and the scope approvals:write"
            )),
        };
    }
    let alone = people.approvers.iter().find(|approver| {
        let one = std::slice::from_ref(*approver);
        !can_be_two(one, &people.approvers)
    });
    Ok(match alone {
        None => "each request has an approver".to_owned(),
        Some(CredentialUser { user, .. }) => {
            format!("no user can approve the requests of `{user}`")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(user: &str, makers: &[&str]) -> CredentialUser {
        let name = |name: &str| charter_contract::ids::UserId::parse(name).unwrap();
        CredentialUser {
            user: name(user),
            makers: makers.iter().map(|maker| name(maker)).collect(),
        }
    }

    fn people(all: &[CredentialUser], approvers: &[CredentialUser]) -> People {
        People {
            all: all.to_vec(),
            approvers: approvers.to_vec(),
            provided: false,
        }
    }

    /// Ruling 33: an admin and the keys that they created are one person.
    #[test]
    fn ruling_33_a_tenant_without_two_people_is_found() {
        let (root, zoe, bob) = (
            person("root", &[]),
            person("zoe", &["root"]),
            person("bob", &[]),
        );
        let both = [root.clone(), zoe.clone()];
        let alone = people(&both, &both);
        assert!(examine(&alone, true).is_err());
        assert!(examine(&alone, false).unwrap().ends_with("were not read"));
        let provided = People {
            provided: true,
            ..people(&both, &[])
        };
        assert!(examine(&provided, true).is_ok());
        let all = [root.clone(), zoe, bob.clone()];
        let one = people(&all, std::slice::from_ref(&root));
        let found = examine(&one, true).unwrap();
        assert_eq!(found, "no user can approve the requests of `root`");
        let two = people(&all, &[root, bob]);
        assert_eq!(examine(&two, true).unwrap(), "each request has an approver");
    }
}
