//! The embedder's own threads: a bounded queue of calls served in turn, each worker processing a few texts at a time.
//! When there is one such unit and idle workers, they compute it as a team. Knows no arithmetic.
//!
//! A panic in a worker fails only the calls that it was serving: the worker catches it and continues.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use charter_search::embed::{EmbedError, Vector};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::ModelLoadError;
use super::bert::{Scratch, TeamMember};
use super::engine::{Engine, ROWS_PER_PASS};
use super::shape::HEADS;
use super::team::{Broken, Team, spin_until};
use super::tokens::Batch;

/// Calls that may wait or be served at the same time; further callers wait for a free slot.
pub const MAX_CALLS_AT_ONCE: usize = 64;
/// Bytes of text that a worker processes at a time: about one pass's tokens.
const BYTES_PER_UNIT: usize = 4 * ROWS_PER_PASS;
/// A team never has more members than there are attention heads to share.
const MAX_TEAM: usize = HEADS;

/// How long a leader waits for idle workers to wake before it begins with those that joined: a wake-up takes about 50
/// µs, a pass by two saves far more.
const GATHERING_TIME: Duration = Duration::from_micros(150);

type Outcome = Result<Vec<Vector>, EmbedError>;

/// A call's answer as it fills.
struct Answer {
    vectors: Vec<Option<Vector>>,
    missing: usize,
    reply: Option<oneshot::Sender<Outcome>>,
    /// The caller's slot in the queue, released when the answer is dropped.
    _place: OwnedSemaphorePermit,
}

impl Answer {
    fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }

    fn fill(&mut self, places: &[usize], outcome: Outcome) {
        match outcome {
            Err(error) => self.finish(Err(error)),
            Ok(vectors) => {
                for (place, vector) in places.iter().zip(vectors) {
                    self.vectors[*place] = Some(vector);
                    self.missing -= 1;
                }
                if self.missing == 0 {
                    let vectors = std::mem::take(&mut self.vectors);
                    self.finish(Ok(vectors.into_iter().flatten().collect()));
                }
            }
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        if let Some(reply) = self.reply.take() {
            // The caller may be gone.
            drop(reply.send(outcome));
        }
    }
}

/// A call with texts that no worker has taken yet.
struct Call {
    texts: VecDeque<(usize, String)>,
    answer: Arc<Mutex<Answer>>,
}

/// The texts that one worker processes at a time.
struct Unit {
    places: Vec<usize>,
    texts: Vec<String>,
    answer: Arc<Mutex<Answer>>,
}

/// A pass that idle workers may join until its leader begins.
struct Gathering {
    /// Number of idle workers at its creation.
    expected: usize,
    joined: AtomicUsize,
    /// Set once: the pass, or that it was cancelled.
    plan: OnceLock<Option<Arc<Plan>>>,
}

/// The pass that the members of a team compute.
struct Plan {
    team: Team,
    batch: Batch,
}

/// State that the queue's lock protects.
#[derive(Default)]
struct State {
    calls: VecDeque<Call>,
    idle: usize,
    gathering: Option<Arc<Gathering>>,
    closed: bool,
}

/// State that the workers and the handle share.
struct Shared {
    engine: Arc<Engine>,
    state: Mutex<State>,
    wake: Condvar,
}

/// The running threads; dropping it stops and joins them.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// A worker's next work.
enum Work {
    /// Compute a unit; with a gathering, others may join.
    Lead(Unit, Option<Arc<Gathering>>),
    /// Join another worker's pass as this member.
    Join(Arc<Gathering>, usize),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every critical section leaves the value consistent, so a panic elsewhere does not corrupt it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    /// Starts `count` threads.
    pub(super) fn start(
        engine: Arc<Engine>,
        count: NonZeroUsize,
    ) -> Result<Workers, ModelLoadError> {
        let shared = Arc::new(Shared {
            engine,
            state: Mutex::default(),
            wake: Condvar::new(),
        });
        let mut workers = Workers {
            shared,
            threads: Vec::new(),
        };
        for index in 0..count.get() {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new()
                .name(format!("embed-{index}"))
                .spawn(move || shared.work())
                .map_err(|source| ModelLoadError::Threads { source })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Queues a call of at least one text. The caller bounds the texts, `place` the calls.
    pub(super) fn submit(
        &self,
        texts: Vec<String>,
        place: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<Outcome> {
        let (reply, answer) = oneshot::channel();
        let call = Call {
            answer: Arc::new(Mutex::new(Answer {
                vectors: vec![None; texts.len()],
                missing: texts.len(),
                reply: Some(reply),
                _place: place,
            })),
            texts: texts.into_iter().enumerate().collect(),
        };
        lock(&self.shared.state).calls.push_back(call);
        self.shared.wake.notify_all();
        answer
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let abandoned = {
            let mut state = lock(&self.shared.state);
            state.closed = true;
            std::mem::take(&mut state.calls)
        };
        for call in abandoned {
            lock(&call.answer).finish(Err(EmbedError::Stopped));
        }
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("an embedder thread panicked");
            }
        }
    }
}

impl Shared {
    /// Runs a worker until the embedder stops.
    fn work(&self) {
        let mut scratch = Scratch::new(ROWS_PER_PASS);
        while let Some(work) = self.next() {
            match work {
                Work::Lead(unit, gathering) => self.lead(&unit, gathering.as_deref(), &mut scratch),
                Work::Join(gathering, rank) => self.join(&gathering, rank, &mut scratch),
            }
        }
    }

    /// Waits for work; `None` when the embedder stops.
    fn next(&self) -> Option<Work> {
        let mut state = lock(&self.state);
        loop {
            if let Some(work) = state.take() {
                if let Work::Lead(_, Some(_)) = work {
                    self.wake.notify_all();
                }
                return Some(work);
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Computes a unit and answers its call.
    fn lead(&self, unit: &Unit, gathering: Option<&Gathering>, scratch: &mut Scratch) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.compute(unit, gathering, scratch)));
        if let Some(gathering) = gathering {
            // Normally it has begun already; otherwise release the workers that wait for it.
            self.begin(gathering, |_| None);
        }
        lock(&unit.answer).fill(
            &unit.places,
            outcome.unwrap_or(Err(EmbedError::WorkerPanicked)),
        );
    }

    fn compute(
        &self,
        unit: &Unit,
        mut gathering: Option<&Gathering>,
        scratch: &mut Scratch,
    ) -> Outcome {
        let texts = unit.texts.iter().map(String::as_str);
        let mut vectors = Vec::with_capacity(unit.texts.len());
        for batch in self.engine.tokenize(texts)? {
            vectors.extend(match gathering.take() {
                Some(gathering) => self.encode_together(gathering, batch, scratch)?,
                None => self.engine.encode_alone(&batch, scratch)?,
            });
        }
        Ok(vectors)
    }

    /// Computes a pass with the workers that join within [`GATHERING_TIME`].
    fn encode_together(
        &self,
        gathering: &Gathering,
        batch: Batch,
        scratch: &mut Scratch,
    ) -> Outcome {
        let limit = Instant::now() + GATHERING_TIME;
        spin_until(|| {
            let full = gathering.joined.load(Ordering::Acquire) == gathering.expected;
            (full || Instant::now() > limit).then_some(())
        });
        let plan = self.begin(gathering, |members| {
            Some(Arc::new(Plan {
                team: Team::for_batch(members, &batch),
                batch,
            }))
        });
        let Some(plan) = plan else {
            return Err(EmbedError::WorkerPanicked);
        };
        self.take_part(&plan, 0, scratch)
            .map_err(|Broken| EmbedError::WorkerPanicked)?;
        self.engine.vectors(&plan.batch, scratch)
    }

    /// Closes a gathering: no worker can join any more, and those that did receive the plan that `make` builds for this
    /// number of members (including the leader).
    fn begin(
        &self,
        gathering: &Gathering,
        make: impl FnOnce(usize) -> Option<Arc<Plan>>,
    ) -> Option<Arc<Plan>> {
        let members = {
            let mut state = lock(&self.state);
            let current = state.gathering.as_ref();
            if current.is_some_and(|current| std::ptr::eq(Arc::as_ptr(current), gathering)) {
                state.gathering = None;
            }
            gathering.joined.load(Ordering::Acquire) + 1
        };
        gathering.plan.get_or_init(|| make(members)).clone()
    }

    /// Computes a member's part in another worker's pass.
    fn join(&self, gathering: &Gathering, rank: usize, scratch: &mut Scratch) {
        let plan = spin_until(|| gathering.plan.get().cloned());
        if let Some(plan) = plan
            && self.take_part(&plan, rank, scratch) == Err(Broken)
        {
            tracing::error!(rank, "a pass of the embedder was interrupted");
        }
    }

    /// One member's share; a panic releases the other members.
    fn take_part(&self, plan: &Plan, rank: usize, scratch: &mut Scratch) -> Result<(), Broken> {
        let seat = TeamMember {
            team: &plan.team,
            rank,
        };
        let share = AssertUnwindSafe(|| self.engine.encode(&seat, &plan.batch, scratch));
        catch_unwind(share).unwrap_or_else(|_| {
            plan.team.abandon();
            Err(Broken)
        })
    }
}

impl State {
    /// Returns a worker's next work: first joining a pass, then the next call in turn.
    fn take(&mut self) -> Option<Work> {
        if let Some(gathering) = &self.gathering {
            let rank = gathering.joined.load(Ordering::Acquire) + 1;
            if rank <= gathering.expected {
                gathering.joined.store(rank, Ordering::Release);
                return Some(Work::Join(Arc::clone(gathering), rank));
            }
        }
        let unit = self.take_unit()?;
        let helpers = self.idle.min(MAX_TEAM - 1);
        let alone = helpers == 0 || !self.calls.is_empty() || self.gathering.is_some();
        let gathering = (!alone).then(|| {
            Arc::new(Gathering {
                expected: helpers,
                joined: AtomicUsize::new(0),
                plan: OnceLock::new(),
            })
        });
        if let Some(gathering) = &gathering {
            self.gathering = Some(Arc::clone(gathering));
        }
        Some(Work::Lead(unit, gathering))
    }

    /// Takes some texts of the next call in turn, which then moves to the end of the queue.
    fn take_unit(&mut self) -> Option<Unit> {
        loop {
            let mut call = self.calls.pop_front()?;
            if !lock(&call.answer).is_wanted() {
                continue;
            }
            let mut unit = Unit {
                places: Vec::new(),
                texts: Vec::new(),
                answer: Arc::clone(&call.answer),
            };
            let mut bytes = 0;
            while let Some((_, text)) = call.texts.front()
                && (unit.texts.is_empty() || bytes + text.len() <= BYTES_PER_UNIT)
                && let Some((place, text)) = call.texts.pop_front()
            {
                bytes += text.len();
                unit.places.push(place);
                unit.texts.push(text);
            }
            if !call.texts.is_empty() {
                self.calls.push_back(call);
            }
            return Some(unit);
        }
    }
}
