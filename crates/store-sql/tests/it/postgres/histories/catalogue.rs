//! Histories of packages and their documents.

use charter_contract::ids::PackageName;
use charter_store::Store;
use charter_store::catalogue::CatalogueRevision;
use charter_testkit::store_suite::sample;
use proptest_derive::Arbitrary;

use super::{Done, ScopeChoice, Several, at, hold, told};

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Register(ScopeChoice, Package, [bool; 3], Several),
    Unregister(ScopeChoice, Package, Several),
    Load,
    History(ScopeChoice, Package),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Package {
    One,
    Two,
}

impl Package {
    fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
        }
    }

    fn parsed(self) -> Done<PackageName> {
        Ok(PackageName::parse(self.name())?)
    }
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Register(place, package, has, Several(expected)) => {
                let name = package.name();
                let ids = ["a", "B", "é"].into_iter().zip(has);
                let documents = ids.filter(|(_, has)| *has);
                let documents = documents.map(|(id, _)| sample::skill(id, name)).collect();
                let (scope, expected) = (place.scope()?, expected.into());
                let registration =
                    sample::registration(&scope, name, "1.0.0", expected, documents)?;
                told(store.register(registration).await)
            }
            Self::Unregister(place, package, Several(expected)) => {
                let (scope, package) = (place.scope()?, package.parsed()?);
                let (expected, by) = (CatalogueRevision(expected.into()), sample::user()?);
                told(
                    store
                        .unregister(&scope, &package, expected, &by, at(5)?)
                        .await,
                )
            }
            Self::Load => told(store.load().await),
            Self::History(place, package) => {
                let scope = place.scope()?;
                let history = told(store.package_history(&scope, &package.parsed()?).await);
                history + &told(store.packages(&scope).await)
            }
        })
    }
}

#[test]
fn the_catalogue_has_the_same_history_on_both_engines() {
    hold::<Call>(8);
}
