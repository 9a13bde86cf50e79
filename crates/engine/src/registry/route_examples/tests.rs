//! Suggestions and decisions over a real store, without an embedder and with a bag-of-words embedder.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::ids::PackageName;
use charter_contract::package::{PackageBundle, PackageScope};
use charter_contract::route_example::NotSuggested;
use charter_search::embed::{EmbedError, Embedder, EmbeddingModel, Quantisation, Vector};
use charter_store::SharedStore;
use charter_store_sql::sqlite::SqliteStore;
use serde_json::Map;

use super::*;
use crate::engine::tests::{open as store_in, ports, sandbox};
use crate::identity::caller::tests::{caller, person};
use crate::{Engine, Mode, Ports, Role, Settings};

const SKILL: &str = "reliability.backups";

/// The example that the skill is registered with.
const REGISTERED: &str = "which backups of the archive have failed during this night";

/// A bag-of-words embedder: sentences with most words in common have similar vectors.
struct Bag(EmbeddingModel);

impl Bag {
    fn new() -> Arc<Self> {
        Arc::new(Self(EmbeddingModel {
            name: "bag".to_owned(),
            dims: 512,
            quantisation: Quantisation::F32,
        }))
    }
}

#[async_trait]
impl Embedder for Bag {
    fn model(&self) -> &EmbeddingModel {
        &self.0
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let vectors = texts.iter().map(|text| {
            let mut counts = vec![0.001; self.0.dims];
            let lower = text.to_lowercase();
            let words = lower.split(|c: char| !c.is_alphanumeric());
            for word in words.filter(|word| !word.is_empty()) {
                let bytes = word.bytes().map(usize::from);
                let place = bytes.fold(7, |place, byte| (place * 31 + byte) % self.0.dims);
                counts[place] += 1.0;
            }
            Vector::new(counts).map_err(|source| EmbedError::Vector { source })
        });
        vectors.collect()
    }

    fn count_tokens(&self, _: &str) -> Option<usize> {
        None
    }

    fn token_spans(&self, _: &str) -> Option<Vec<std::ops::Range<usize>>> {
        None
    }
}

/// An engine with its store.
struct Rig {
    engine: Arc<Engine>,
    store: Arc<SqliteStore>,
}

impl Rig {
    async fn open(dir: &Path, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let store = store_in(&dir.join("data"));
        let shared: SharedStore = Arc::<SqliteStore>::clone(&store);
        let tools = Arc::new(sandbox(dir).await);
        let ports = Ports {
            embedder,
            ..ports(shared, tools)
        };
        let engine = Engine::start(ports, Settings::default()).await.unwrap();
        Self { engine, store }
    }

    /// With the skill registered globally.
    async fn with_skill(dir: &Path, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let rig = Self::open(dir, embedder).await;
        rig.register("1.0.0", "active").await;
        rig
    }

    async fn register(&self, version: &str, status: &str) {
        let admin = caller("root", Role::Admin);
        let package = package(version, status);
        let registered = self
            .engine
            .packages()
            .register(&admin, package, Mode::Apply);
        registered.await.unwrap();
    }

    async fn close(self) {
        self.engine.stop().await;
        drop(self.engine);
        self.store.close().await.unwrap();
    }

    /// Confirms a sentence for the skill.
    async fn confirm(&self, text: &str) -> Result<RouteExampleId, NotSuggested> {
        let (document, given) = (DocumentId::parse(SKILL).unwrap(), Map::new());
        let sentence = ConfirmedSentence {
            tenant: &acme(),
            kind: RoutedKind::Skill,
            document: &document,
            text,
            given: &given,
            asked_at: self.engine.now(),
            source: ExampleSource::Thumb,
            request: None,
        };
        self.engine.route_examples().suggest_example(sentence).await
    }

    async fn decide(
        &self,
        example: &RouteExampleId,
        decision: ExampleDecision,
    ) -> Result<RouteExampleShown, EngineError> {
        let owner = person("owner");
        let decided = self
            .engine
            .route_examples()
            .decide(&owner, example, decision);
        decided.await
    }

    /// The tenant's accepted examples that the router uses.
    fn in_force(&self, tenant: &TenantId) -> Vec<String> {
        let entries = self.engine.live().exemplified(tenant);
        let entries = entries.tenant.into_iter().chain(entries.global);
        let texts = entries.flat_map(|(_, text)| text.examples);
        texts.filter(|text| text != REGISTERED).collect()
    }
}

fn acme() -> TenantId {
    TenantId::parse("acme").unwrap()
}

fn package(version: &str, status: &str) -> PackageBundle {
    let tool = "tool_id: vaults.list_backups\nname: list_backups\ntool_class: readonly\ndomain: reliability\n\
         description: Lists backups.\nprovider: vaults\nservice: backups\nlanguage: python\nexecution_target: server\n\
         parameters: []\nimplementation: {type: script, body: \"pass\"}\n";
    let skill = format!(
        "skill_id: {SKILL}\nname: backups\ndomain: reliability\ndisplay_name: Backups\nstatus: {status}\n\
         description: Lists backups that have failed.\npurpose: find failed backups\noutput_type: finding\n\
         examples: [\"{REGISTERED}\"]\nexecution_plan:\n  steps:\n    \
         - {{step_id: s1, type: read, tool_id: vaults.list_backups, description: The backups, parameters: {{}}}}\n\
         analysis: {{findings: []}}\n"
    );
    let manifest = format!("name: vaults\nversion: {version}\ntitle: Vaults\nscope: global\n");
    let files = json!({"files": {
        "package.yaml": manifest, "tools/list.yaml": tool, "skills/backups.yaml": skill,
    }});
    serde_json::from_value(files).unwrap()
}

/// Sentences without a word of content in common.
const VARIED: [&str; 12] = [
    "show copies broken yesterday evening",
    "list snapshots missing today",
    "find archives nobody finished",
    "check saved data lost overnight",
    "count restores stuck halfway",
    "rank mirrors running late",
    "review dumps ending early",
    "sort replicas behind schedule",
    "view tapes never written",
    "search exports gone wrong",
    "report images half done",
    "inspect bundles cut short",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_near_duplicate_of_a_registered_or_suggested_example_is_not_suggested() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::with_skill(dir.path(), Some(Bag::new())).await;
    for near in [
        "Which backups of the archive have failed during this night?",
        "which backups of the archive have failed during this past night",
    ] {
        let refused = rig.confirm(near).await;
        assert_eq!(refused, Err(NotSuggested::NearDuplicate), "{near}");
    }
    let first = "show copies of the vaults that broke during yesterday evening";
    rig.confirm(first).await.unwrap();
    // Suggested ones count as well.
    let again = "show copies of the old vaults that broke during yesterday evening";
    let again = rig.confirm(again).await;
    assert_eq!(again, Err(NotSuggested::NearDuplicate));
    rig.confirm("list snapshots missing today").await.unwrap();
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suggestions_of_a_document_are_bounded_until_one_is_decided() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::with_skill(dir.path(), None).await;
    let mut suggested = Vec::new();
    for text in &VARIED[..10] {
        suggested.push(rig.confirm(text).await.unwrap());
    }
    let full = rig.confirm(VARIED[10]).await;
    assert_eq!(full, Err(NotSuggested::DocumentFull));
    rig.decide(&suggested[0], ExampleDecision::Reject)
        .await
        .unwrap();
    // A rejected sentence is not suggested again, and frees its place.
    let again = rig.confirm(VARIED[0]).await;
    assert_eq!(again, Err(NotSuggested::NearDuplicate));
    rig.confirm(VARIED[10]).await.unwrap();
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accepted_example_counts_for_its_tenant_until_it_is_withdrawn() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::with_skill(dir.path(), Some(Bag::new())).await;
    let example = rig.confirm(VARIED[0]).await.unwrap();
    assert_eq!(rig.in_force(&acme()), Vec::<String>::new());
    let revision = rig.engine.live().revision;
    let accepted = rig.decide(&example, ExampleDecision::Accept).await.unwrap();
    assert_eq!(accepted.status, ExampleStatus::Accepted);
    let text = accepted.text;
    assert_eq!(rig.in_force(&acme()), [text.as_str()]);
    assert!(rig.engine.live().revision.0 > revision.0);
    let other = TenantId::parse("other").unwrap();
    assert_eq!(rig.in_force(&other), Vec::<String>::new());
    rig.close().await;
    // After a restart as before; while the skill is not offered it has no effect.
    let rig = Rig::open(dir.path(), Some(Bag::new())).await;
    assert_eq!(rig.in_force(&acme()), [text.as_str()]);
    rig.register("1.1.0", "inactive").await;
    assert_eq!(rig.in_force(&acme()), Vec::<String>::new());
    assert_eq!(rig.confirm(VARIED[1]).await, Err(NotSuggested::NotOffered));
    rig.register("1.2.0", "active").await;
    assert_eq!(rig.in_force(&acme()), [text.as_str()]);
    let package = PackageName::parse("vaults").unwrap();
    let admin = caller("root", Role::Admin);
    let gone = rig
        .engine
        .packages()
        .unregister(&admin, PackageScope::Global, &package);
    gone.await.unwrap();
    assert_eq!(rig.in_force(&acme()), Vec::<String>::new());
    rig.decide(&example, ExampleDecision::Withdraw)
        .await
        .unwrap();
    rig.register("1.3.0", "active").await;
    assert_eq!(rig.in_force(&acme()), Vec::<String>::new());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decided_example_is_not_decided_again() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::with_skill(dir.path(), None).await;
    let example = rig.confirm(VARIED[0]).await.unwrap();
    rig.decide(&example, ExampleDecision::Accept).await.unwrap();
    for decision in [ExampleDecision::Accept, ExampleDecision::Reject] {
        let refused = rig.decide(&example, decision).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::IllegalTransition);
        assert_eq!(refused.details, Some(json!({"status": "accepted"})));
    }
    let user = caller("user", Role::User);
    let page = PageRequest::new(None, 10);
    let refused = rig
        .engine
        .route_examples()
        .list(&user, None, None, &page)
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied);
    let refused = rig
        .engine
        .route_examples()
        .decide(&user, &example, ExampleDecision::Withdraw);
    assert_eq!(refused.await.unwrap_err().code, ErrorCode::PermissionDenied);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_examples_of_a_document_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::with_skill(dir.path(), None).await;
    let things = ["copies", "snapshots"];
    let texts = things
        .iter()
        .flat_map(|thing| VARIED.iter().map(move |text| format!("{text} of {thing}")));
    let mut last: Result<(), ErrorCode> = Ok(());
    for text in texts.take(ROUTE_EXAMPLES_ACCEPTED + 1) {
        assert!(last.is_ok(), "{last:?}");
        let example = rig.confirm(&text).await.unwrap();
        let accepted = rig.decide(&example, ExampleDecision::Accept).await;
        last = accepted.map(|_| ()).map_err(|refused| refused.code);
    }
    assert_eq!(last, Err(ErrorCode::IllegalTransition));
    assert_eq!(rig.in_force(&acme()).len(), ROUTE_EXAMPLES_ACCEPTED);
    rig.close().await;
}
