//! Finds the nearest visible entries: one search for each scope, in one request.

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_store::skill_index::{NearSkill, NearestSkills, SkillIndexError, SkillVisibility};
use serde::{Deserialize, Serialize};

use crate::client::{Node, shortened};
use crate::mapping::VECTOR;
use crate::names;
use crate::product::Product;

pub(crate) const DOING: &str = "finding skills";

/// The path of a request for searches, with the requested parts of the answer.
pub(crate) const PATH: &str = "_msearch?filter_path=responses.status,responses.error.reason,responses.timed_out,\
    responses._shards.failed,responses.hits.hits._score,responses.hits.hits.fields";

/// Bytes of a search beside its vector and the ids that its filter names, and bytes of a component of the vector.
const SEARCH_BYTES: usize = 512;
const COMPONENT_BYTES: usize = 13;

/// The status of a search in an index that does not exist.
const NO_INDEX: u16 = 404;

/// A request for searches.
#[derive(Debug)]
pub(crate) struct Searches {
    /// The scope of each search.
    pub(crate) scopes: Vec<Scope>,
    /// The body.
    pub(crate) lines: Vec<u8>,
}

/// The line before a search.
#[derive(Serialize)]
struct SearchHead<'a> {
    index: &'a str,
}

/// A filter of entries.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum EntryFilter<'a> {
    MatchAll {},
    Bool(BoolFilter<'a>),
    Term(FolderFilter),
    Terms(IdFilter<'a>),
}

#[derive(Default, Serialize)]
struct BoolFilter<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filter: Vec<EntryFilter<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    must_not: Vec<EntryFilter<'a>>,
}

#[derive(Serialize)]
struct FolderFilter {
    is_folder: bool,
}

#[derive(Serialize)]
struct IdFilter<'a> {
    skill_id: &'a [SkillId],
}

/// Returns the searches of a question; `None` when no entry is visible.
///
/// # Errors
/// Never in practice: every part of a search has a JSON form.
pub(crate) fn searches(
    product: Product,
    alias: &str,
    question: &NearestSkills,
) -> Result<Option<Searches>, serde_json::Error> {
    let layers = [
        (Scope::Tenant(question.tenant.clone()), &question.own),
        (Scope::Global, &question.global),
    ];
    let bytes = SEARCH_BYTES + COMPONENT_BYTES * question.vector.len();
    let mut lines = Vec::with_capacity(bytes);
    let mut scopes = Vec::new();
    for (scope, sight) in layers {
        let Some(mut conditions) = conditions(sight) else {
            continue;
        };
        if let Some(is_folder) = question.is_folder {
            conditions.push(EntryFilter::Term(FolderFilter { is_folder }));
        }
        let filter = match conditions.is_empty() {
            true => EntryFilter::MatchAll {},
            false => EntryFilter::Bool(BoolFilter {
                filter: conditions,
                ..BoolFilter::default()
            }),
        };
        let index = names::of_scope(alias, &scope);
        add_line(&mut lines, &SearchHead { index: &index })?;
        let fields = (VECTOR, "skill_id");
        let search = product.nearest(fields, &question.vector, question.most, filter);
        add_line(&mut lines, &search)?;
        scopes.push(scope);
    }
    Ok((!scopes.is_empty()).then_some(Searches { scopes, lines }))
}

fn named(skill_id: &[SkillId]) -> EntryFilter<'_> {
    EntryFilter::Terms(IdFilter { skill_id })
}

fn add_line(lines: &mut Vec<u8>, line: &impl Serialize) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *lines, line)?;
    lines.push(b'\n');
    Ok(())
}

/// Returns the conditions on the entries of a layer; `None` when none is visible.
fn conditions(sight: &SkillVisibility) -> Option<Vec<EntryFilter<'_>>> {
    match sight {
        SkillVisibility::Nothing => None,
        SkillVisibility::All => Some(Vec::new()),
        SkillVisibility::Only(ids) if ids.is_empty() => None,
        SkillVisibility::Only(ids) => Some(vec![named(ids)]),
        SkillVisibility::AllBut(ids) if ids.is_empty() => Some(Vec::new()),
        SkillVisibility::AllBut(ids) => Some(vec![EntryFilter::Bool(BoolFilter {
            must_not: vec![named(ids)],
            ..BoolFilter::default()
        })]),
    }
}

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
    skill_id: [SkillId; 1],
}

/// The results of searches.
pub(crate) struct SearchResults {
    /// The entries, nearest first.
    pub(crate) near: Vec<NearSkill>,
    /// Whether a scope has no index: it has no entries yet, or there is no index at all.
    pub(crate) lacks_index: bool,
}

/// Returns the results of searches.
pub(crate) fn results(
    node: &Node,
    scopes: Vec<Scope>,
    answer: SearchResponses,
    most: usize,
) -> Result<SearchResults, SkillIndexError> {
    let (expected, answered) = (scopes.len(), answer.responses.len());
    if answered != expected {
        let detail = format!("{answered} answers to {expected} searches");
        return Err(node.invalid_answer(DOING, detail));
    }
    let mut near: Vec<NearSkill> = Vec::new();
    let mut lacks_index = false;
    for (scope, response) in scopes.into_iter().zip(answer.responses) {
        if response.status == NO_INDEX {
            lacks_index = true;
            continue;
        }
        let hits = whole(node, response)?.into_iter();
        near.extend(hits.map(|hit| near_skill(&scope, hit)));
    }
    near.sort_by(|a, b| {
        let nearer = b.cosine.total_cmp(&a.cosine);
        nearer.then_with(|| (&a.scope, &a.id).cmp(&(&b.scope, &b.id)))
    });
    near.truncate(most);
    Ok(SearchResults { near, lacks_index })
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

fn near_skill(scope: &Scope, hit: Hit) -> NearSkill {
    let [id] = hit.fields.skill_id;
    NearSkill {
        scope: scope.clone(),
        id,
        // Both products return (1 + cosine) / 2.
        cosine: (2.0 * hit.score - 1.0) as f32,
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::TenantId;
    use serde_json::{Value, json};

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

    fn lines(own: SkillVisibility, global: SkillVisibility) -> Option<Vec<Value>> {
        let asked = question(own, global);
        let searches = searches(Product::Elasticsearch, "skills", &asked).unwrap()?;
        let lines = std::str::from_utf8(&searches.lines).unwrap().lines();
        Some(
            lines
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        )
    }

    fn indexes(own: SkillVisibility, global: SkillVisibility) -> Option<Vec<String>> {
        let lines = lines(own, global)?.into_iter();
        let heads = lines.step_by(2);
        Some(
            heads
                .map(|head| head["index"].as_str().unwrap().to_owned())
                .collect(),
        )
    }

    #[test]
    fn b001_6_only_indexes_with_visible_skills_are_searched() {
        use SkillVisibility::{All, AllBut, Nothing, Only};
        assert_eq!(
            indexes(All, All).unwrap(),
            ["skills.tenant-acme", "skills.global"]
        );
        assert_eq!(
            indexes(Nothing, AllBut(Vec::new())).unwrap(),
            ["skills.global"]
        );
        assert_eq!(indexes(Only(Vec::new()), Nothing), None);
    }

    #[test]
    fn b001_6_a_filter_names_the_visible_skills_or_the_others() {
        use SkillVisibility::{All, AllBut, Only};
        let ids = || vec![SkillId::parse("a").unwrap()];
        let filters = |own, global| -> Vec<Value> {
            let lines = lines(own, global).unwrap().into_iter();
            let searches = lines.skip(1).step_by(2);
            searches
                .map(|search| search["knn"]["filter"].clone())
                .collect()
        };
        let named = json!({"terms": {"skill_id": ["a"]}});
        assert_eq!(
            filters(Only(ids()), AllBut(ids())),
            [
                json!({"bool": {"filter": [named]}}),
                json!({"bool": {"filter": [{"bool": {"must_not": [named]}}]}}),
            ]
        );
        let all = json!({"match_all": {}});
        assert_eq!(filters(All, All), [all.clone(), all]);
    }
}
