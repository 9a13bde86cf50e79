//! Exclusions and restrictions of a sentence that no parameter expresses. A change is then offered and not started, and
//! an answer names the words that it ignores.

use charter_contract::catalogue::skill::Skill;
use charter_contract::time::Timestamp;
use charter_domain::parameters::Collected;
use serde_json::{Map, Value};

use super::classification::Classification;
use super::classify::RequestClassificationService;
use super::course::Course;
use crate::Caller;

impl RequestClassificationService {
    /// Offers a change instead of opening it, if a text excludes something and no parameter of the playbook expresses
    /// that: the plan would affect the excluded items. `given` are the caller's values.
    pub(super) fn offer_where_left_out(
        &self,
        caller: &Caller,
        given: &Map<String, Value>,
        text: &str,
        at: Timestamp,
        classified: &mut Classification,
    ) {
        let Some(playbook) = &classified.playbook else {
            return;
        };
        if classified.course() != Course::Open {
            return;
        }
        // A playbook that cannot run is refused when it is opened.
        let Ok(found) = self.run_starts.runnable_playbook(caller, playbook) else {
            return;
        };
        let declared = found.document().declared_parameters();
        let left_out = Collected::given(&declared, given).read(text, at).left_out();
        let words: Vec<String> = left_out.into_iter().map(|left| left.words).collect();
        if words.is_empty() {
            return;
        }
        let because = format!(
            "it excludes something that no parameter of `{playbook}` accepts: `{}`",
            words.join("`, `")
        );
        classified.offer_only(because);
    }
}

/// Returns the words that a skill's answer ignores. Words of the skill's own texts restrict nothing.
pub(super) fn unheeded(skill: &Skill, disregarded: &[String]) -> Vec<String> {
    let texts = [&skill.description, &skill.purpose];
    let texts = texts.into_iter().chain(&skill.examples);
    let texts: Vec<String> = texts.map(|text| text.as_str().to_lowercase()).collect();
    let is_own = |words: &&String| {
        let words = words.to_lowercase();
        texts.iter().any(|text| text.contains(&words))
    };
    let unheeded = disregarded.iter().filter(|words| !is_own(words));
    let id = &skill.skill_id;
    unheeded
        .map(|words| format!("`{id}` ignores `{words}`: none of its parameters accepts it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_no_parameter_takes_are_named_unless_the_skill_is_about_them() {
        let skill: Skill = serde_json::from_value(json!({
            "skill_id": "tanks.levels", "name": "levels", "domain": "ops", "display_name": "Levels",
            "description": "Lists tanks that were filled more than 3 days ago.", "purpose": "To know levels.",
            "output_type": "finding", "execution_plan": {"steps": [
                {"step_id": "read", "type": "readonly", "tool_id": "tank.levels"},
            ]},
        }))
        .unwrap();
        let words = ["more than 3 days".to_owned(), "but t-9".to_owned()];
        assert_eq!(
            unheeded(&skill, &words),
            ["`tanks.levels` ignores `but t-9`: none of its parameters accepts it"]
        );
    }
}
