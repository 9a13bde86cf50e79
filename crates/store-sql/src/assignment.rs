//! Assignments of outside agents.

use async_trait::async_trait;
use charter_contract::ids::{AssignmentId, LeaseId, MissionId, TaskId, TenantId};
use charter_contract::mission::AssignmentState;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::assignment::{
    AssignmentFilter, AssignmentLease, AssignmentOffer, AssignmentRecord, AssignmentVerdict,
    Assignments,
};
use charter_store::page::{Page, PageRequest};

use crate::column::{self, Cursor};
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{StatementBuilder, Tx, execute, params, row, rows};

const READING: &str = "reading an assignment";
const WRITING: &str = "writing an assignment";
const TURN: &str = "turn";
const SUBMISSIONS: &str = "number of submissions";

/// The columns of [`record`].
const SELECT: &str = "SELECT tenant_id, assignment_id, mission_id, role_type, task_id, turn, agents, brief,
            offered_at, expires_at, state, lease_id, holder, makers, submission, refusal, submissions
     FROM mission_assignment";

fn record(row: &dyn Columns) -> Result<AssignmentRecord, StoreError> {
    let task = field::<Option<&str>>(row, 4)?;
    let lease = field::<Option<&str>>(row, 11)?;
    let lease = match lease {
        Some(lease) => Some(AssignmentLease {
            lease_id: column::parse("lease id", lease)?,
            holder: column::parse("user id", field(row, 12)?)?,
            makers: field(row, 13)?,
        }),
        None => None,
    };
    Ok(AssignmentRecord {
        offer: AssignmentOffer {
            tenant_id: column::parse("tenant id", field(row, 0)?)?,
            assignment_id: column::parse("assignment id", field(row, 1)?)?,
            mission_id: column::parse("mission id", field(row, 2)?)?,
            role: column::parse("role", field(row, 3)?)?,
            task_id: task
                .map(|task| column::parse::<TaskId>("task id", task))
                .transpose()?,
            turn: column::parse_integer(TURN, field(row, 5)?)?,
            agents: field(row, 6)?,
            brief: field(row, 7)?,
            offered_at: column::parse_micros(field(row, 8)?)?,
            expires_at: column::parse_micros(field(row, 9)?)?,
        },
        state: column::parse("assignment state", field(row, 10)?)?,
        lease,
        submission: field(row, 14)?,
        refusal: field(row, 15)?,
        submissions: column::parse_integer(SUBMISSIONS, field(row, 16)?)?,
    })
}

async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    assignment: &AssignmentId,
) -> Result<Option<AssignmentRecord>, StoreError> {
    let sql = format!("{SELECT} WHERE tenant_id = $1 AND assignment_id = $2");
    let values = params![tenant.as_str(), assignment.as_str()];
    row(READING, tx, &sql, values, record).await
}

async fn offer(tx: &mut Tx<'_>, offer: &AssignmentOffer) -> Result<AssignmentRecord, StoreError> {
    let (tenant, id) = (&offer.tenant_id, &offer.assignment_id);
    execute(
        WRITING,
        tx,
        "INSERT INTO mission_assignment AS held
             (tenant_id, assignment_id, mission_id, role_type, task_id, turn, agents, brief, offered_at,
              expires_at, state, submissions)
         SELECT $1, $2, mission_id, $4, $5, CAST($6 AS bigint), $7, $8, CAST($9 AS bigint),
                CAST($10 AS bigint), 'offered', 0
         FROM colony_missions WHERE tenant_id = $1 AND mission_id = $3
         ON CONFLICT (tenant_id, assignment_id) DO UPDATE SET
             turn = excluded.turn, brief = excluded.brief,
             state = CASE WHEN held.lease_id IS NULL THEN 'offered' ELSE 'claimed' END,
             submission = NULL, refusal = NULL, submissions = 0
         WHERE held.turn < excluded.turn AND held.state = 'accepted'",
        params![
            tenant.as_str(),
            id.as_str(),
            offer.mission_id.as_str(),
            offer.role.as_str(),
            offer.task_id.as_ref().map(TaskId::as_str),
            column::integer(TURN, offer.turn)?,
            &offer.agents,
            &offer.brief,
            column::micros(offer.offered_at),
            column::micros(offer.expires_at)
        ],
    )
    .await?;
    let found = find(tx, tenant, id).await?;
    found.ok_or_else(|| StoreError::Refused {
        what: "assignment",
        id: id.to_string(),
        detail: format!("there is no mission `{}`", offer.mission_id),
    })
}

/// Closes the open assignments of a mission that has ended, with the end of its run.
pub(crate) async fn close_all(
    tx: &mut Tx<'_>,
    tenant: &str,
    mission: &str,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "UPDATE mission_assignment SET state = 'closed'
         WHERE tenant_id = $1 AND mission_id = $2 AND state IN ('offered', 'claimed', 'submitted')",
        params![tenant, mission],
    )
    .await
    .map(|_| ())
}

async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    mission: Option<&MissionId>,
    open_at: Option<i64>,
    page: &PageRequest,
) -> Result<Page<AssignmentRecord>, StoreError> {
    let (at, id) = column::after(page)?;
    let mut statement = StatementBuilder::new(format!("{SELECT} WHERE "));
    statement.push("tenant_id = ?", [tenant.as_str().into()]);
    statement.and(
        "(offered_at, assignment_id) < (?, ?)",
        [at.into(), id.into()],
    );
    if let Some(mission) = mission {
        statement.and("mission_id = ?", [mission.as_str().into()]);
    }
    if let Some(now) = open_at {
        statement.and("state = 'offered' AND expires_at > ?", [now.into()]);
    }
    let limit = column::limit(page.limit() + 1);
    statement.push(
        " ORDER BY offered_at DESC, assignment_id DESC LIMIT ?",
        [limit.into()],
    );
    let (sql, values) = statement.whole();
    let entries = rows("listing assignments", tx, &sql, &values, record).await?;
    Ok(column::page(entries, page, |assignment| Cursor {
        at: column::micros(assignment.offer.offered_at),
        id: assignment.offer.assignment_id.to_string(),
    }))
}

#[async_trait]
impl<E: SqlEngine> Assignments for SqlStore<E> {
    async fn offer_assignment(
        &self,
        offered: &AssignmentOffer,
    ) -> Result<AssignmentRecord, StoreError> {
        let scope = RowScope::Tenant(&offered.tenant_id);
        self.engine
            .run(Access::Write, scope, offered.clone(), |tx, offered| {
                Box::pin(offer(tx, offered))
            })
            .await
    }

    async fn assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
    ) -> Result<Option<AssignmentRecord>, StoreError> {
        let values = (tenant.clone(), assignment.clone());
        self.engine
            .run(
                Access::Read,
                RowScope::Tenant(tenant),
                values,
                |tx, (tenant, assignment)| Box::pin(find(tx, tenant, assignment)),
            )
            .await
    }

    async fn assignments(
        &self,
        tenant: &TenantId,
        filter: AssignmentFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<AssignmentRecord>, StoreError> {
        let values = (tenant.clone(), filter.mission.cloned(), page.clone());
        let open_at = filter.open_at.map(column::micros);
        self.engine
            .run(
                Access::Read,
                RowScope::Tenant(tenant),
                values,
                move |tx, (tenant, mission, page)| {
                    Box::pin(list(tx, tenant, mission.as_ref(), open_at, page))
                },
            )
            .await
    }

    async fn claim_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        lease: &AssignmentLease,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let claimed = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                WRITING,
                "UPDATE mission_assignment SET state = 'claimed', lease_id = $3, holder = $4, makers = $5
                 WHERE tenant_id = $1 AND assignment_id = $2 AND state = 'offered' AND expires_at > $6",
                params![
                    tenant.as_str(),
                    assignment.as_str(),
                    lease.lease_id.as_str(),
                    lease.holder.as_str(),
                    &lease.makers,
                    column::micros(now)
                ],
            )
            .await?;
        Ok(claimed > 0)
    }

    async fn release_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        lease: &LeaseId,
    ) -> Result<bool, StoreError> {
        let released = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                WRITING,
                "UPDATE mission_assignment
                 SET state = 'offered', lease_id = NULL, holder = NULL, makers = NULL, refusal = NULL
                 WHERE tenant_id = $1 AND assignment_id = $2 AND state = 'claimed' AND lease_id = $3",
                params![tenant.as_str(), assignment.as_str(), lease.as_str()],
            )
            .await?;
        Ok(released > 0)
    }

    async fn submit_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        lease: &LeaseId,
        submission: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let submitted = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                WRITING,
                "UPDATE mission_assignment
                 SET state = 'submitted', submission = $4, refusal = NULL, submissions = submissions + 1
                 WHERE tenant_id = $1 AND assignment_id = $2 AND state = 'claimed' AND lease_id = $3
                   AND expires_at > $5",
                params![
                    tenant.as_str(),
                    assignment.as_str(),
                    lease.as_str(),
                    submission,
                    column::micros(now)
                ],
            )
            .await?;
        Ok(submitted > 0)
    }

    async fn judge_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        turn: u64,
        verdict: &AssignmentVerdict,
    ) -> Result<bool, StoreError> {
        let (state, refusal) = match verdict {
            AssignmentVerdict::Accepted => (AssignmentState::Accepted, None),
            AssignmentVerdict::Refused(reasons) => (AssignmentState::Claimed, Some(reasons)),
            AssignmentVerdict::Closed => (AssignmentState::Closed, None),
        };
        let from = match verdict {
            AssignmentVerdict::Accepted | AssignmentVerdict::Refused(_) => "state = 'submitted'",
            AssignmentVerdict::Closed => "state IN ('offered', 'claimed', 'submitted')",
        };
        let sql = format!(
            "UPDATE mission_assignment SET state = $4, refusal = $5
             WHERE tenant_id = $1 AND assignment_id = $2 AND turn = $3 AND {from}"
        );
        let judged = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                WRITING,
                &sql,
                params![
                    tenant.as_str(),
                    assignment.as_str(),
                    column::integer(TURN, turn)?,
                    state.as_str(),
                    refusal
                ],
            )
            .await?;
        Ok(judged > 0)
    }
}
