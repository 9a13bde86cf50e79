//! Finding the nearest entries among those in sight.

use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;
use charter_store::skill_index::{NearSkill, NearestSkills, Sight, SkillIndexError};
use serde_json::{Value, json};

use crate::client::Node;
use crate::mapping::VECTOR;
use crate::product::Product;

pub(crate) const DOING: &str = "finding skills";

/// The search's body; `None` when nothing is in sight.
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

fn layer(scope: &str, sight: &Sight) -> Option<Value> {
    let scope = json!({"term": {"scope": scope}});
    Some(match sight {
        Sight::Nothing => return None,
        Sight::All => scope,
        Sight::Only(ids) if ids.is_empty() => return None,
        Sight::Only(ids) => {
            json!({"bool": {"filter": [scope, {"terms": {"skill_id": ids}}]}})
        }
        Sight::AllBut(ids) => {
            json!({"bool": {"filter": [scope], "must_not": [{"terms": {"skill_id": ids}}]}})
        }
    })
}

/// What a search found, nearest first.
pub(crate) fn hits(
    node: &Node,
    answer: &Value,
    most: usize,
) -> Result<Vec<NearSkill>, SkillIndexError> {
    let whole = answer["timed_out"] == false && answer["_shards"]["failed"] == 0;
    if !whole {
        return Err(SkillIndexError::Unreachable {
            place: node.place(),
            doing: DOING,
            source: format!(
                "only a part of the index answered (timed out: {}, shards: {})",
                answer["timed_out"], answer["_shards"]
            )
            .into(),
        });
    }
    let hits = answer["hits"]["hits"].as_array().map(Vec::as_slice);
    let found: Option<Vec<NearSkill>> = hits.unwrap_or_default().iter().map(hit).collect();
    let mut found =
        found.ok_or_else(|| node.form(DOING, "a hit has no scope, id or score".to_owned()))?;
    found.sort_by(|a, b| {
        let nearer = b.cosine.total_cmp(&a.cosine);
        nearer.then_with(|| (&a.scope, &a.id).cmp(&(&b.scope, &b.id)))
    });
    found.truncate(most);
    Ok(found)
}

fn hit(hit: &Value) -> Option<NearSkill> {
    let scope = hit["fields"]["scope"][0].as_str()?;
    let scope = match scope {
        "" => Scope::Global,
        tenant => Scope::Tenant(TenantId::parse(tenant).ok()?),
    };
    // Both give (1 + cosine) / 2.
    let score = hit["_score"].as_f64()?;
    Some(NearSkill {
        scope,
        id: SkillId::parse(hit["fields"]["skill_id"][0].as_str()?).ok()?,
        cosine: (2.0 * score - 1.0) as f32,
    })
}
