//! Whether two users may be one person, judged by their credentials (ruling 33).
//!
//! A user that makes a key can act under the name of the key, so the name also belongs to the makers. Two names with a
//! common maker may belong to one person. Knows neither credentials nor decisions.

use std::collections::BTreeSet;

use charter_contract::ids::UserId;

/// A user, with the makers of the credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialUser {
    /// The name.
    pub user: UserId,
    /// The users that made the credential, or the key that made it, and so on. Empty for a key of the configuration and
    /// for a token of an identity provider, which no user can make.
    pub makers: BTreeSet<UserId>,
}

impl CredentialUser {
    /// Creates a user whose credential no user made.
    #[must_use]
    pub fn known(user: UserId) -> Self {
        Self {
            user,
            makers: BTreeSet::new(),
        }
    }

    /// Returns the user and the makers of the credential.
    pub fn names(&self) -> impl Iterator<Item = &UserId> {
        std::iter::once(&self.user).chain(&self.makers)
    }

    /// Returns whether this user may be a person with one of these names, which are those of users and of the makers of
    /// their credentials.
    #[must_use]
    pub fn may_be_among(&self, names: &BTreeSet<UserId>) -> bool {
        self.names().any(|name| names.contains(name))
    }
}

/// Returns whether some approver is certainly a different person from some requester.
#[must_use]
pub fn can_be_two(askers: &[CredentialUser], approvers: &[CredentialUser]) -> bool {
    askers.iter().any(|asker| {
        let names = asker.names().cloned().collect();
        approvers
            .iter()
            .any(|approver| !approver.may_be_among(&names))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn person((user, makers): (&str, &[&str])) -> CredentialUser {
        let name = |name: &&str| UserId::parse(name).unwrap();
        CredentialUser {
            user: name(&user),
            makers: makers.iter().map(name).collect(),
        }
    }

    fn may_be_one(a: &CredentialUser, b: &CredentialUser) -> bool {
        b.may_be_among(&a.names().cloned().collect())
    }

    #[test]
    fn ruling_33_a_key_is_its_makers_too() {
        let none: &[&str] = &[];
        for (why, asked, approves, one) in [
            ("the same name", ("ann", none), ("ann", none), true),
            (
                "two people of the configuration",
                ("ann", none),
                ("bob", none),
                false,
            ),
            (
                "a key that the asker made",
                ("ann", none),
                ("zoe", &["ann"][..]),
                true,
            ),
            (
                "a key by such a key",
                ("ann", none),
                ("yan", &["zoe", "ann"][..]),
                true,
            ),
            (
                "under a name that the approver made",
                ("zoe", &["ann"][..]),
                ("ann", none),
                true,
            ),
            (
                "two names that one admin made",
                ("zoe", &["root"][..]),
                ("yan", &["root"][..]),
                true,
            ),
            (
                "two names of two admins",
                ("zoe", &["root"][..]),
                ("yan", &["ruth"][..]),
                false,
            ),
            (
                "a made name and one of the configuration",
                ("zoe", &["root"][..]),
                ("bob", none),
                false,
            ),
            (
                "the same name by another key",
                ("zoe", &["root"][..]),
                ("zoe", none),
                true,
            ),
        ] {
            let (asked, approves) = (person(asked), person(approves));
            assert_eq!(may_be_one(&asked, &approves), one, "{why}");
        }
    }

    #[test]
    fn ruling_33_two_are_needed_of_whom_one_approves() {
        let (ann, bob) = (person(("ann", &[])), person(("bob", &[])));
        let made_by_ann = person(("zoe", &["ann"]));
        let one = std::slice::from_ref;
        assert!(!can_be_two(one(&ann), one(&ann)));
        assert!(can_be_two(one(&ann), one(&bob)));
        assert!(!can_be_two(one(&ann), one(&made_by_ann)));
        assert!(!can_be_two(one(&ann), &[]));
        assert!(!can_be_two(&[], one(&ann)));
        // No approver exists for ann; ann can approve for bob.
        assert!(can_be_two(&[ann.clone(), bob], one(&ann)));
    }

    fn people() -> impl Strategy<Value = CredentialUser> {
        let name = || "[a-d]".prop_map(|name| UserId::parse(&name).unwrap());
        let makers = prop::collection::btree_set(name(), 0..3);
        (name(), makers).prop_map(|(user, makers)| CredentialUser { user, makers })
    }

    proptest! {
        /// The relation is symmetric and reflexive, and holds between a person and each of their makers.
        #[test]
        fn ruling_33_who_may_be_one_is_symmetric(a in people(), b in people()) {
            prop_assert_eq!(may_be_one(&a, &b), may_be_one(&b, &a));
            prop_assert!(may_be_one(&a, &a));
            for maker in &b.makers {
                prop_assert!(may_be_one(&CredentialUser::known(maker.clone()), &b));
            }
        }
    }
}
