//! Lists the tasks that are visible to the caller, the most recently changed first.

use charter_contract::error_code::ErrorCode;
use charter_contract::time::Timestamp;
use charter_store::mission::MissionFilter;
use charter_store::page::PageRequest;

use super::mission::{is_seen, state_of};
use super::thread::begins_task;
use super::{Task, TaskKey, TaskService, TaskState};
use crate::conversation::requests::ActiveRequest;
use crate::ground::error::{MOST_KNOWN, newest_known};
use crate::{Caller, EngineError};

/// Maximum requests, and missions, that one listing reads, newest first. The time of a task's last change follows from
/// its runs, so all of these are read for sorting.
const MAX_SCANNED: usize = 1_000;

/// Requests that are read at once.
const BATCH: usize = 100;

/// A filter for tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The conversation.
    pub context: Option<String>,
    /// The state.
    pub state: Option<TaskState>,
    /// The state began at this time or later.
    pub since: Option<Timestamp>,
}

/// One page of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    /// The most recently changed first.
    pub entries: Vec<Task>,
    /// Cursor to the next page.
    pub next: Option<String>,
    /// Number of tasks over all pages, among the newest 1,000 visible requests and the newest 1,000 visible missions.
    pub total: usize,
}

/// A task's position in the listing.
type TaskCursor = (Timestamp, TaskKey);

impl TaskService {
    /// Lists the tasks that are visible to the caller: a user's own, for an operator those of the tenant.
    ///
    /// # Errors
    /// `invalid_request` for an invalid cursor.
    pub async fn tasks_of(
        &self,
        caller: &Caller,
        filter: &TaskFilter,
        page: &PageRequest,
    ) -> Result<TaskPage, EngineError> {
        let after = page.after.as_deref().map(decode).transpose()?;
        let mut places = self.places(caller, filter).await?;
        self.mission_places(caller, filter, &mut places).await?;
        places.sort_unstable_by(|one, other| other.cmp(one));
        let total = places.len();
        let rest = places
            .into_iter()
            .filter(|place| after.as_ref().is_none_or(|after| place < after));
        let mut shown: Vec<TaskCursor> = rest.take(page.limit() + 1).collect();
        let has_more = shown.len() > page.limit();
        shown.truncate(page.limit());
        let next = shown.last().filter(|_| has_more).map(encode);
        let mut entries = Vec::with_capacity(shown.len());
        for (_, id) in &shown {
            entries.push(self.task(caller, id).await?);
        }
        Ok(TaskPage {
            entries,
            next,
            total,
        })
    }

    /// The error for a task that is not visible to the caller, which lists the newest visible ones.
    ///
    /// # Errors
    /// If storage fails.
    pub(super) async fn no_task(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<EngineError, EngineError> {
        let newest = newest_known();
        let (store, own) = (&self.store, caller.only_own());
        let requests = store.requests_of(&caller.tenant, own, &newest).await?;
        let filter = MissionFilter {
            state: None,
            user_id: own,
        };
        let missions = store.missions(&caller.tenant, filter, &newest).await?;
        let mut places: Vec<TaskCursor> = Vec::new();
        for record in requests.entries {
            let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
            if begins_task(&asked.request) {
                places.push((record.created_at, TaskKey::Request(record.request_id)));
            }
        }
        for record in missions.entries {
            if is_seen(caller, &record) {
                places.push((record.created_at, TaskKey::Mission(record.mission_id)));
            }
        }
        places.sort_unstable_by(|one, other| other.cmp(one));
        places.truncate(MOST_KNOWN);
        let ids: Vec<String> = places.iter().map(|(_, id)| id.to_string()).collect();
        let absent = EngineError::not_found("task", id);
        Ok(absent.knowing(ids.iter().map(String::as_str)))
    }

    async fn places(
        &self,
        caller: &Caller,
        filter: &TaskFilter,
    ) -> Result<Vec<TaskCursor>, EngineError> {
        let mut places = Vec::new();
        let (mut after, mut seen) = (None, 0);
        loop {
            let page = PageRequest::new(after, BATCH);
            let page = self
                .store
                .requests_of(&caller.tenant, caller.only_own(), &page)
                .await?;
            seen += page.entries.len();
            for record in page.entries {
                let Some(thread) = self.thread_of(&caller.tenant, record).await? else {
                    continue;
                };
                if filter
                    .context
                    .as_ref()
                    .is_some_and(|wanted| *wanted != thread.context)
                {
                    continue;
                }
                let outline = self.outline(&thread).await?;
                if filter.state.is_none_or(|state| state == outline.state)
                    && filter.since.is_none_or(|since| since <= outline.since)
                {
                    places.push((outline.since, TaskKey::Request(thread.id)));
                }
            }
            after = page.next;
            if after.is_none() || seen >= MAX_SCANNED {
                return Ok(places);
            }
        }
    }

    async fn mission_places(
        &self,
        caller: &Caller,
        filter: &TaskFilter,
        places: &mut Vec<TaskCursor>,
    ) -> Result<(), EngineError> {
        let (mut after, mut seen) = (None, 0);
        loop {
            let page = PageRequest::new(after, BATCH);
            let own = MissionFilter {
                state: None,
                user_id: caller.only_own(),
            };
            let page = self.store.missions(&caller.tenant, own, &page).await?;
            seen += page.entries.len();
            for record in page.entries {
                let (state, since) = (state_of(record.state), record.updated_at);
                let fits = filter.state.is_none_or(|wanted| wanted == state)
                    && filter.since.is_none_or(|wanted| wanted <= since)
                    && is_seen(caller, &record);
                if !fits {
                    continue;
                }
                let id = record.mission_id.clone();
                if let Some(wanted) = &filter.context
                    && *wanted != self.conversation_of_mission(record).await?
                {
                    continue;
                }
                places.push((since, TaskKey::Mission(id)));
            }
            after = page.next;
            if after.is_none() || seen >= MAX_SCANNED {
                return Ok(());
            }
        }
    }
}

fn encode((since, id): &TaskCursor) -> String {
    format!("{}.{id}", since.as_micros())
}

fn decode(text: &str) -> Result<TaskCursor, EngineError> {
    let parts = text.split_once('.').and_then(|(since, id)| {
        let since = Timestamp::from_micros(since.parse().ok()?).ok()?;
        Some((since, TaskKey::parse(id)?))
    });
    parts.ok_or_else(|| {
        EngineError::new(
            ErrorCode::InvalidRequest,
            "invalid page token: pass the one from the previous page",
        )
    })
}
