//! Constraints on the form of a plan and its tasks.

use charter_testkit::store_suite::Outcome;

use crate::missions::engines::{Engine, engines};

#[tokio::test]
async fn b002_18_a_plan_is_its_tasks() -> Outcome {
    let sql = "SELECT place || ' ' || task_id || ' ' || role_type FROM colony_tasks
               WHERE mission_id = 'm2' ORDER BY place";
    let expected = [
        "1 task_plan_01 prompt_master",
        "2 task_research_01 researcher",
        "3 task_worker_01 worker",
        "4 task_aggregate_01 aggregator",
        "5 task_review_01 reviewer",
    ];
    for engine in &engines().await? {
        assert_eq!(engine.texts(sql).await?, expected);
    }
    Ok(())
}

#[tokio::test]
async fn b002_16_a_plan_is_held_to_its_form() -> Outcome {
    for engine in &engines().await? {
        hold_a_plan_to_its_form(engine).await?;
    }
    Ok(())
}

async fn hold_a_plan_to_its_form(engine: &Engine) -> Outcome {
    let task = |set: &str| {
        let payload = engine.payload_with(&format!("'$.task_id', 'new'{set}"));
        format!(
            "INSERT INTO colony_tasks (tenant_id, mission_id, task_id, place, payload)
             SELECT tenant_id, mission_id, 'new', 9, {payload}
             FROM colony_tasks WHERE mission_id = 'm2' LIMIT 1"
        )
    };
    assert_eq!(engine.said(&task("")).await?, None);
    for (broken, reason) in [
        (task(", '$.task_id', 'other'"), "columns_are_the_payloads"),
        (task(", '$.role_type', 'boss'"), "role_is_known"),
        (task(", '$.role_type', NULL"), "NOT NULL constraint failed"),
        (
            task("").replace("SELECT tenant_id", "SELECT 'rival'"),
            "FOREIGN KEY",
        ),
        (
            task("").replace(", 9,", ", NULL,"),
            "NOT NULL constraint failed",
        ),
        (format!("{0}; {0}", task("")), "UNIQUE constraint failed"),
    ] {
        engine.must_refuse(&broken, reason).await?;
    }
    Ok(())
}
