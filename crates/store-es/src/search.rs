//! Finds the nearest visible entries.

use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;
use charter_store::skill_index::{NearSkill, NearestSkills, SkillIndexError, SkillVisibility};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::Node;
use crate::mapping::VECTOR;
use crate::product::Product;

pub(crate) const DOING: &str = "finding skills";

/// Returns the search's body; `None` when no entry is visible.
pub(crate) fn body(product: Product, question: &NearestSkills) -> Option<Value> {
    let layers = [
        (question.tenant.as_str(), &question.own),
        ("", &question.global),
    ];
    let layers: Vec<Value> = layers
        .into_iter()
        .filter_map(|(scope, sight)| layer(scope, sight))
        .collect();
    if layers.is_empty() {
        return None;
    }
    let mut conditions = vec![json!({"bool": {"should": layers, "minimum_should_match": 1}})];
    if let Some(is_folder) = question.is_folder {
        conditions.push(json!({"term": {"is_folder": is_folder}}));
    }
    let filter = json!({"bool": {"filter": conditions}});
    let mut body = product.nearest(VECTOR, &question.vector, question.most, &filter);
    body["docvalue_fields"] = json!(["scope", "skill_id"]);
    Some(body)
}

fn layer(scope: &str, sight: &SkillVisibility) -> Option<Value> {
    let scope = json!({"term": {"scope": scope}});
    Some(match sight {
        SkillVisibility::Nothing => return None,
        SkillVisibility::All => scope,
        SkillVisibility::Only(ids) if ids.is_empty() => return None,
        SkillVisibility::Only(ids) => {
            json!({"bool": {"filter": [scope, {"terms": {"skill_id": ids}}]}})
        }
        SkillVisibility::AllBut(ids) => {
            json!({"bool": {"filter": [scope], "must_not": [{"terms": {"skill_id": ids}}]}})
        }
    })
}

/// The requested parts of an answer.
pub(crate) const READ: &str = "timed_out,_shards.failed,hits.hits._score,hits.hits.fields";

/// A node's answer to a search, limited to the requested parts.
#[derive(Debug, Deserialize)]
pub(crate) struct SearchResponse {
    timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Shards,
    /// Absent if there are no results.
    #[serde(default)]
    hits: Hits,
}

#[derive(Debug, Deserialize)]
struct Shards {
    failed: u32,
}

#[derive(Debug, Default, Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Debug, Deserialize)]
struct Hit {
    #[serde(rename = "_score")]
    score: f64,
    fields: Fields,
}

#[derive(Debug, Deserialize)]
struct Fields {
    scope: [String; 1],
    skill_id: [String; 1],
}

/// Returns the results of a search, nearest first.
pub(crate) fn hits(
    node: &Node,
    answer: SearchResponse,
    most: usize,
) -> Result<Vec<NearSkill>, SkillIndexError> {
    let SearchResponse {
        timed_out,
        shards: Shards { failed },
        hits: Hits { hits },
    } = answer;
    if timed_out || failed > 0 {
        return Err(SkillIndexError::Unreachable {
            place: node.place(),
            doing: DOING,
            source: format!(
                "only a part of the index answered (timed out: {timed_out}, shards that failed: {failed})"
            )
            .into(),
        });
    }
    let found: Option<Vec<NearSkill>> = hits.into_iter().map(near_skill).collect();
    let mut found = found
        .ok_or_else(|| node.invalid_answer(DOING, "a hit has an invalid skill id".to_owned()))?;
    found.sort_by(|a, b| {
        let nearer = b.cosine.total_cmp(&a.cosine);
        nearer.then_with(|| (&a.scope, &a.id).cmp(&(&b.scope, &b.id)))
    });
    found.truncate(most);
    Ok(found)
}

fn near_skill(hit: Hit) -> Option<NearSkill> {
    let ([scope], [id]) = (hit.fields.scope, hit.fields.skill_id);
    let scope = match scope.as_str() {
        "" => Scope::Global,
        tenant => Scope::Tenant(TenantId::parse(tenant).ok()?),
    };
    Some(NearSkill {
        scope,
        id: SkillId::parse(&id).ok()?,
        // Both products return (1 + cosine) / 2.
        cosine: (2.0 * hit.score - 1.0) as f32,
    })
}
