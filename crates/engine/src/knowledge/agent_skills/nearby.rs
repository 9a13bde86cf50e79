//! Discovery by the index on a search node. The caller's reach is part of the search's filter, and the results are
//! checked against the current reach: the node is trusted only for similarity.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_domain::link_graph::{LayerOf, LinkGraph, SkillPosition};
use charter_search::{EmbeddedQuery, rank_nearest};
use charter_store::skill_index::{MAX_NAMED, NearSkill, NearestSkills, SkillVisibility};
use fixedbitset::FixedBitSet;

use super::AgentSkillService;
use super::index::{Access, Indexes, KeptVectors};
use super::mirror::of_node;
use super::{AgentSkillHit, SkillKind, SkillSearch};
use crate::{Caller, EngineError};

/// How many of the nearest are also ranked by words.
const RANKED: usize = 200;

/// How many extra hits a query without words requests first, to replace those that left the reach or the graph after
/// indexing.
const SPARE: usize = 10;

impl AgentSkillService {
    /// Returns the node's hits, best first. `None` if this process must search itself: there is no node, the query has
    /// no vector, or the node does not answer and this process has the vectors.
    ///
    /// # Errors
    /// `unavailable` if the node does not answer and no other vectors exist; `too_large` if the filter would have to
    /// name too many single skills within or out of reach.
    pub(super) async fn found_by_node(
        &self,
        caller: &Caller,
        search: &SkillSearch,
        query: &EmbeddedQuery,
        top_k: usize,
    ) -> Result<Option<Vec<AgentSkillHit>>, EngineError> {
        let (Some((index, _)), Some(vector)) = (self.skill_index(), query.vector()) else {
            return Ok(None);
        };
        let or_here = |error: EngineError| match self.kept_vectors() {
            KeptVectors::Here => Ok(None),
            KeptVectors::Elsewhere => Err(error),
        };
        if self.mirror.rests() {
            let message = "the search node for skills did not answer recently";
            return or_here(EngineError::new(ErrorCode::Unavailable, message));
        }
        let sights = self.skills.read(caller, |indexes, access| {
            let own = indexes.own(&caller.tenant).map(|own| &own.graph);
            let own = own.map_or(Some(SkillVisibility::Nothing), |own| {
                sight(own, &access.reach.own)
            });
            Some((own?, sight(&indexes.global().graph, &access.reach.global)?))
        });
        let Some((own, global)) = sights else {
            let message = format!(
                "the caller's grants name more than {MAX_NAMED} single skills; grant folders instead, or keep \
                 vectors in memory"
            );
            return or_here(EngineError::new(ErrorCode::TooLarge, message));
        };
        let enough = RANKED.max(top_k);
        let mut question = NearestSkills {
            tenant: caller.tenant.clone(),
            own,
            global,
            is_folder: search.only.map(|only| match only {
                SkillKind::Folders => true,
                SkillKind::Leaves => false,
            }),
            vector: vector.as_slice().to_vec(),
            most: match query.has_words() {
                true => enough,
                false => top_k + SPARE,
            },
        };
        loop {
            let near = match index.nearest(&question).await {
                Ok(near) => near,
                Err(error) => {
                    self.mirror.failed();
                    tracing::warn!(error = %error, "finding skills on the search node failed");
                    return or_here(of_node(error));
                }
            };
            self.mirror.answered();
            let found = self.ranked(caller, search, query, top_k, &near);
            let has_more = near.len() >= question.most;
            if found.len() < top_k && has_more && question.most < enough {
                question.most = enough;
                continue;
            }
            return Ok(Some(found));
        }
    }

    fn ranked(
        &self,
        caller: &Caller,
        search: &SkillSearch,
        query: &EmbeddedQuery,
        top_k: usize,
        near: &[NearSkill],
    ) -> Vec<AgentSkillHit> {
        let settings = self.catalogue.live().settings;
        self.skills.read(caller, |indexes, access| {
            let (mut own, mut global) = (Vec::new(), Vec::new());
            for hit in near {
                match place(indexes, access, caller, search, hit) {
                    Some(SkillPosition {
                        layer: LayerOf::Own,
                        slot,
                    }) => own.push((slot, hit.cosine)),
                    Some(SkillPosition {
                        layer: LayerOf::Global,
                        slot,
                    }) => global.push((slot, hit.cosine)),
                    None => {}
                }
            }
            let (mut layers, mut places) = (Vec::new(), Vec::new());
            if let Some(scope) = indexes.own(&caller.tenant) {
                layers.push((&scope.slots, own));
                places.push(LayerOf::Own);
            }
            layers.push((&indexes.global().slots, global));
            places.push(LayerOf::Global);
            let view = indexes.view(&caller.tenant);
            let hits = rank_nearest(&layers, query, &settings, top_k);
            let found = hits.into_iter().filter_map(|hit| {
                let (layer, slot) = (*places.get(hit.layer)?, hit.slot);
                Some(AgentSkillHit {
                    skill: view.node(SkillPosition { layer, slot })?.into(),
                    score: hit.score,
                })
            });
            found.collect()
        })
    }
}

/// Returns the position of a hit, if it is within the caller's reach and matches the search.
fn place(
    indexes: &Indexes,
    access: &Access,
    caller: &Caller,
    search: &SkillSearch,
    hit: &NearSkill,
) -> Option<SkillPosition> {
    let (layer, graph) = match &hit.scope {
        Scope::Global => (LayerOf::Global, &indexes.global().graph),
        Scope::Tenant(tenant) if *tenant == caller.tenant => {
            (LayerOf::Own, &indexes.own(tenant)?.graph)
        }
        Scope::Tenant(_) => return None,
    };
    let place = SkillPosition {
        layer,
        slot: graph.slot(&hit.id)?,
    };
    let is_folder = graph.node(place.slot)?.is_folder;
    let wanted = match search.only {
        Some(SkillKind::Folders) => is_folder,
        Some(SkillKind::Leaves) => !is_folder,
        None => true,
    };
    (wanted && access.reach.contains(place)).then_some(place)
}

/// Describes the reach within a layer in the fewest names; `None` if these are too many.
fn sight(graph: &LinkGraph, reach: &FixedBitSet) -> Option<SkillVisibility> {
    let named = |slots: &mut dyn Iterator<Item = usize>| -> Vec<SkillId> {
        let nodes = slots.filter_map(|slot| graph.node(slot));
        nodes.map(|node| node.id.clone()).collect()
    };
    let (there, reached) = (graph.len(), reach.count_ones(..));
    let hidden = there.saturating_sub(reached);
    match (reached, hidden) {
        (0, _) => Some(SkillVisibility::Nothing),
        (_, 0) => Some(SkillVisibility::All),
        _ if reached.min(hidden) > MAX_NAMED => None,
        _ if reached <= hidden => Some(SkillVisibility::Only(named(&mut reach.ones()))),
        _ => Some(SkillVisibility::AllBut(named(
            &mut graph.present().difference(reach),
        ))),
    }
}
