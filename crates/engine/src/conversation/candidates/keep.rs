//! Stores candidates: each is a separate package in the tenant's layer, so it has the validation, versions, history and
//! removal of every package.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::PackageName;
use charter_contract::package::{PackageBundle, PackageManifest, PackageScope};
use charter_contract::scope::Scope;
use charter_contract::text::{Text, Version};
use charter_domain::candidate::{Brief, CandidateKey, is_generated};
use charter_domain::catalogue::{Origin, View};
use charter_domain::package::needs;

use serde_json::json;

use super::{CandidateProposal, CandidateService};
use crate::{Caller, EngineError};

/// Maximum unaccepted candidates of one tenant.
pub(super) const MAX_CANDIDATES: usize = 100;

impl CandidateService {
    /// Registers a candidate for the caller's tenant, for a caller of any level: its effects are decided when a person
    /// starts it. An equal request's earlier candidate stays.
    pub(super) async fn keep_candidate(
        &self,
        caller: &Caller,
        brief: &Brief,
        document: Document,
    ) -> Result<CandidateProposal, EngineError> {
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let key = brief.key();
        let view = self.catalogue.live().view(&caller.tenant);
        if let Some(known) = known(&view, &key)? {
            return Ok(known);
        }
        let kept = all(&view).filter(|kept| kept.document.is_candidate());
        if kept.count() >= MAX_CANDIDATES {
            let message = format!(
                "nothing registered matches this request, and there are already {MAX_CANDIDATES} candidates: promote \
                 some, or unregister their packages"
            );
            return Err(EngineError::new(ErrorCode::NoMatch, message));
        }
        let package = package_of(&key)?;
        self.put_generated(caller, &package, document).await?;
        let view = self.catalogue.live().view(&caller.tenant);
        known(&view, &key)?
            .ok_or_else(|| EngineError::internal("keeping a candidate", "it is not in force"))
    }

    /// Registers a generated document as the next version of its package. The caller holds the registration lock and
    /// has checked permissions.
    pub(super) async fn put_generated(
        &self,
        caller: &Caller,
        package: &PackageName,
        mut document: Document,
    ) -> Result<crate::RegistrationReport, EngineError> {
        let scope = Scope::Tenant(caller.tenant.clone());
        let history = self.store.package_history(&scope, package).await?;
        // Every entry of the history has its own version.
        let version = Version::parse(&format!("0.{}.0", history.len() + 1))
            .map_err(|error| EngineError::internal("numbering a candidate", error))?;
        match &mut document {
            Document::Skill(skill) => skill.version = Some(version.clone()),
            Document::Playbook(playbook) => playbook.version = Some(version.clone()),
            other => {
                let cause = format!("a {} cannot be a candidate", other.kind());
                return Err(EngineError::internal("keeping a candidate", cause));
            }
        }
        let bundle = bundle(package, version, &document)?;
        self.packages.register_held(caller, bundle).await
    }
}

/// Returns the document of a key's package if it is still usable; one whose tools are gone is made again.
pub(super) fn known(
    view: &View,
    key: &CandidateKey,
) -> Result<Option<CandidateProposal>, EngineError> {
    let package = package_of(key)?;
    let mut found = all(view).filter(|kept| kept.origin.package == package);
    let usable = found.find(|kept| {
        let needed = needs(&kept.document);
        needed
            .iter()
            .all(|need| view.status(need.kind, &need.id) == Some(Status::Active))
    });
    Ok(usable)
}

/// Returns the tenant's candidates, and accepted generated documents, with their origins.
pub(super) fn all(view: &View) -> impl Iterator<Item = CandidateProposal> + '_ {
    let is_one = |candidate: bool, origin: &Origin| candidate || is_generated(&origin.package);
    let skills = view.tenant.skills.values();
    let skills = skills
        .filter(move |entry| is_one(entry.document.is_candidate, &entry.origin))
        .map(|entry| CandidateProposal {
            document: Document::Skill(entry.document.clone()),
            origin: Arc::clone(&entry.origin),
        });
    let playbooks = view.tenant.playbooks.values();
    let playbooks = playbooks
        .filter(move |entry| is_one(entry.document.is_candidate, &entry.origin))
        .map(|entry| CandidateProposal {
            document: Document::Playbook(entry.document.clone()),
            origin: Arc::clone(&entry.origin),
        });
    skills.chain(playbooks)
}

fn package_of(key: &CandidateKey) -> Result<PackageName, EngineError> {
    key.package()
        .map_err(|error| EngineError::internal("naming a candidate", error))
}

/// Builds the files of a package that holds only this document. JSON is YAML too. An accepted document must be
/// reachable by its example requests, like any package; a candidate is not routed to.
fn bundle(
    package: &PackageName,
    version: Version,
    document: &Document,
) -> Result<PackageBundle, EngineError> {
    let internal = |error| EngineError::internal("writing a candidate", error);
    let folder = if document.kind() == DocumentKind::Skill {
        "skills"
    } else {
        "playbooks"
    };
    let manifest = PackageManifest {
        name: package.clone(),
        version,
        title: Text::parse(&format!("Generated: {}", document.id()))
            .map_err(|error| EngineError::internal("naming a candidate", error))?,
        description: "Generated for a request that nothing registered matched.".to_owned(),
        licence: None,
        scope: PackageScope::Tenant,
    };
    let manifest = serde_json::to_string_pretty(&manifest).map_err(internal)?;
    let body = serde_json::to_string_pretty(document).map_err(internal)?;
    let mut files = BTreeMap::from([
        ("package.yaml".to_owned(), manifest),
        (format!("{folder}/{}.json", document.id()), body),
    ]);
    if !document.is_candidate() {
        let requests = match document {
            Document::Skill(skill) => &skill.examples[..],
            Document::Playbook(playbook) => &playbook.examples,
            _ => &[],
        };
        let id = document.id();
        let tests = requests.iter();
        let tests: Vec<_> = tests
            .map(|query| json!({"query": query, "expect": id}))
            .collect();
        let tests = serde_json::to_string_pretty(&tests).map_err(internal)?;
        files.insert("tests/requests.yaml".to_owned(), tests);
    }
    Ok(PackageBundle { files })
}
