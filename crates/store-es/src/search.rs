//! Finds the nearest visible entries: one search for each scope, in one request.

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_store::skill_index::{NearSkill, NearestSkills, SkillIndexError, SkillVisibility};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bulk::missing_index;
use crate::client::{Node, shortened};
use crate::mapping::VECTOR;
use crate::names;
use crate::product::Product;

pub(crate) const DOING: &str = "finding skills";

/// A request for searches.
#[derive(Debug)]
pub(crate) struct Searches {
    /// The scope of each search after the first, which only looks for the state.
    scopes: Vec<Scope>,
    /// The body.
    pub(crate) lines: String,
}

/// Returns the searches of a question; `None` when no entry is visible.
pub(crate) fn searches(
    product: Product,
    alias: &str,
    question: &NearestSkills,
) -> Option<Searches> {
    let layers = [
        (Scope::Tenant(question.tenant.clone()), &question.own),
        (Scope::Global, &question.global),
    ];
    // A scope without skills has no index. The state has one, unless there is no index at all.
    let state = json!({"index": names::state_alias(alias)});
    let mut lines = format!("{state}\n{}\n", json!({"size": 0}));
    let mut scopes = Vec::new();
    for (scope, sight) in layers {
        let Some(mut conditions) = conditions(sight) else {
            continue;
        };
        if let Some(is_folder) = question.is_folder {
            conditions.push(json!({"term": {"is_folder": is_folder}}));
        }
        let filter = match conditions.is_empty() {
            true => json!({"match_all": {}}),
            false => json!({"bool": {"filter": conditions}}),
        };
        let mut body = product.nearest(VECTOR, &question.vector, question.most, &filter);
        body["docvalue_fields"] = json!(["skill_id"]);
        let index = names::of_scope(alias, &scope);
        let head = json!({"index": index, "ignore_unavailable": true});
        lines.push_str(&format!("{head}\n{body}\n"));
        scopes.push(scope);
    }
    (!scopes.is_empty()).then_some(Searches { scopes, lines })
}

/// Returns the conditions on the entries of a layer; `None` when none is visible.
fn conditions(sight: &SkillVisibility) -> Option<Vec<Value>> {
    match sight {
        SkillVisibility::Nothing => None,
        SkillVisibility::All => Some(Vec::new()),
        SkillVisibility::Only(ids) if ids.is_empty() => None,
        SkillVisibility::Only(ids) => Some(vec![json!({"terms": {"skill_id": ids}})]),
        SkillVisibility::AllBut(ids) if ids.is_empty() => Some(Vec::new()),
        SkillVisibility::AllBut(ids) => Some(vec![
            json!({"bool": {"must_not": [{"terms": {"skill_id": ids}}]}}),
        ]),
    }
}

/// The requested parts of an answer.
pub(crate) const READ: &str = "responses.status,responses.error.reason,responses.timed_out,\
    responses._shards.failed,responses.hits.hits._score,responses.hits.hits.fields";

/// A node's answer to searches, limited to the requested parts.
#[derive(Debug, Deserialize)]
pub(crate) struct SearchResponses {
    responses: Vec<SearchResponse>,
}

#[derive(Debug, Deserialize)]
struct SearchResponse {
    #[serde(default)]
    status: u16,
    /// Absent if the search succeeded.
    #[serde(default)]
    error: Option<SearchFailure>,
    #[serde(default)]
    timed_out: bool,
    #[serde(rename = "_shards", default)]
    shards: Shards,
    /// Absent if there are no results.
    #[serde(default)]
    hits: Hits,
}

#[derive(Debug, Deserialize)]
struct SearchFailure {
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
struct Shards {
    #[serde(default)]
    failed: u32,
}

#[derive(Debug, Default, Deserialize)]
struct Hits {
    #[serde(default)]
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
    skill_id: [String; 1],
}

/// Returns the results of searches, nearest first.
pub(crate) fn hits(
    node: &Node,
    alias: &str,
    searches: Searches,
    answer: SearchResponses,
    most: usize,
) -> Result<Vec<NearSkill>, SkillIndexError> {
    let expected = searches.scopes.len() + 1;
    let answered = answer.responses.len();
    if answered != expected {
        let detail = format!("{answered} answers to {expected} searches");
        return Err(node.invalid_answer(DOING, detail));
    }
    let mut answers = answer.responses.into_iter();
    let state = answers.next();
    if state.is_some_and(|state| state.status == 404) {
        return Err(missing_index(node, alias));
    }
    let mut found = Vec::new();
    for (scope, response) in searches.scopes.into_iter().zip(answers) {
        let hits = whole(node, response)?;
        let near = hits.into_iter().map(|hit| near_skill(&scope, hit));
        let near: Option<Vec<NearSkill>> = near.collect();
        let invalid = || node.invalid_answer(DOING, "a hit has an invalid skill id".to_owned());
        found.extend(near.ok_or_else(invalid)?);
    }
    found.sort_by(|a, b| {
        let nearer = b.cosine.total_cmp(&a.cosine);
        nearer.then_with(|| (&a.scope, &a.id).cmp(&(&b.scope, &b.id)))
    });
    found.truncate(most);
    Ok(found)
}

/// Returns the hits of an answer from the whole index.
fn whole(node: &Node, response: SearchResponse) -> Result<Vec<Hit>, SkillIndexError> {
    if let Some(SearchFailure { reason }) = response.error {
        return Err(SkillIndexError::Refused {
            place: node.place(),
            doing: DOING,
            status: response.status,
            reason: shortened(&reason),
        });
    }
    let (timed_out, failed) = (response.timed_out, response.shards.failed);
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
    Ok(response.hits.hits)
}

fn near_skill(scope: &Scope, hit: Hit) -> Option<NearSkill> {
    let [id] = hit.fields.skill_id;
    Some(NearSkill {
        scope: scope.clone(),
        id: SkillId::parse(&id).ok()?,
        // Both products return (1 + cosine) / 2.
        cosine: (2.0 * hit.score - 1.0) as f32,
    })
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::TenantId;

    use super::*;

    fn question(own: SkillVisibility, global: SkillVisibility) -> NearestSkills {
        NearestSkills {
            tenant: TenantId::parse("acme").unwrap(),
            own,
            global,
            is_folder: None,
            vector: vec![1.0],
            most: 3,
        }
    }

    fn indexes(own: SkillVisibility, global: SkillVisibility) -> Option<Vec<String>> {
        let asked = question(own, global);
        let searches = searches(Product::Elasticsearch, "skills", &asked)?;
        let heads = searches.lines.lines().step_by(2);
        let named = heads.map(|head| {
            let head: Value = serde_json::from_str(head).unwrap();
            head["index"].as_str().unwrap().to_owned()
        });
        Some(named.collect())
    }

    #[test]
    fn b001_6_only_indexes_with_visible_skills_are_searched() {
        use SkillVisibility::{All, AllBut, Nothing, Only};
        assert_eq!(
            indexes(All, All).unwrap(),
            ["skills-state", "skills.tenant-acme", "skills.global"]
        );
        assert_eq!(
            indexes(Nothing, AllBut(Vec::new())).unwrap(),
            ["skills-state", "skills.global"]
        );
        assert_eq!(indexes(Only(Vec::new()), Nothing), None);
    }
}
