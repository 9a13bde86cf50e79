//! Histories of agent skills.

use charter_contract::ids::SkillId;
use charter_store::Store;
use charter_store::agent_skills::{
    SkillChange, SkillVector, SkillsModel, SkillsRevision, SkillsWrite, VectorOrigin,
};
use charter_store::vector::TextHash;
use proptest_derive::Arbitrary;

use super::{Done, Few, ScopeChoice, at, hold, told};
use crate::postgres::records;

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Put {
        expected: Revision,
        place: ScopeChoice,
        skill: Few,
        content: Few,
        folder: bool,
    },
    Delete(Revision, ScopeChoice, Few),
    Index(Revision, ScopeChoice, Few, bool),
    Read(ScopeChoice, Few),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Revision(#[proptest(strategy = "0..9u64")] u64);

fn id(Few(n): Few) -> Done<SkillId> {
    Ok(SkillId::parse(["net", "net.a", "net.b"][usize::from(n)])?)
}

async fn change(
    store: &dyn Store,
    Revision(expected): Revision,
    place: ScopeChoice,
    change: SkillChange,
) -> Done<String> {
    let write = SkillsWrite {
        scope: place.scope()?,
        expected: SkillsRevision(expected),
        changes: vec![change],
        at: at(1)?,
    };
    Ok(told(store.change_skills(write).await) + &told(store.load_skills().await))
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Put {
                expected,
                place,
                skill,
                content,
                folder,
            } => {
                let mut new = records::skill(id(skill)?.as_str(), content.0)?;
                new.is_folder = folder;
                if folder {
                    new.sub_skills = vec![id(Few(1))?, id(Few(2))?];
                }
                change(store, expected, place, SkillChange::Put(Box::new(new))).await?
            }
            Self::Delete(expected, place, skill) => {
                change(store, expected, place, SkillChange::Delete(id(skill)?)).await?
            }
            Self::Index(Revision(expected), place, skill, first) => {
                let model = SkillsModel {
                    name: if first { "one" } else { "two" }.to_owned(),
                    dims: 1,
                };
                let vector = SkillVector {
                    origin: VectorOrigin::Embedded,
                    summary: TextHash([skill.0; 32]),
                    bytes: vec![skill.0; 4],
                };
                let vectors = vec![(place.scope()?, id(skill)?, vector)];
                let expected = SkillsRevision(expected);
                told(store.index_skills(&model, expected, vectors, at(2)?).await)
            }
            Self::Read(place, skill) => {
                let (scope, id) = (place.scope()?, id(skill)?);
                let mut read = told(store.skills_revision().await);
                read += &told(store.skill_instruction(&scope, &id).await);
                read += &told(store.skill_files(&scope, &id).await);
                read += &told(store.all_skill_files(&scope).await);
                read += &told(store.skill_file(&scope, &id, "a").await);
                let key = [(scope, id)];
                read += &told(store.skill_instructions(&key).await);
                read + &told(store.skills_of(&key).await)
            }
        })
    }
}

#[test]
fn skills_have_the_same_history_on_both_engines() {
    hold::<Call>(8);
}
