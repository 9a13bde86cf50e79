//! A few threads that compute one forward pass together: each owns a share of
//! the heads and of the inner columns, and they meet twice a layer to add
//! their partial sums. Knows nothing of BERT beyond "partial sums of rows".

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use super::kernel::Buffer;
use super::shape::HIDDEN;
use super::tokens::Batch;

/// Iterations of the processor's pause instruction before a waiting thread yields its core. A meeting normally takes
/// much less time (about 20 µs).
const SPINS_BEFORE_YIELD: u32 = 1 << 10;

/// A member of the team panicked; the pass has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// The two sums of a layer. There are two, so that one may be written while a slower member still reads the other: a
/// member can write one again only after all have met at the other.
#[derive(Clone, Copy)]
pub(super) enum Sum {
    /// After attention.
    Attention,
    /// After the inner layer.
    Inner,
}

/// State that the members share for one pass.
pub(super) struct Team {
    size: usize,
    arrived: AtomicUsize,
    meeting: AtomicUsize,
    broken: AtomicBool,
    partials: [Vec<RwLock<Buffer>>; 2],
}

impl Team {
    /// A team of `size` whose sums hold `floats` each.
    pub(super) fn new(size: usize, floats: usize) -> Team {
        let partials = || {
            (0..size)
                .map(|_| RwLock::new(Buffer::zeroed(floats)))
                .collect()
        };
        Team {
            size,
            arrived: AtomicUsize::new(0),
            meeting: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            partials: [partials(), partials()],
        }
    }

    /// A team of `size` for one pass over `batch`.
    pub(super) fn for_batch(size: usize, batch: &Batch) -> Team {
        Team::new(size, batch.rows() * HIDDEN)
    }

    /// The part of `0..count` that `rank` computes.
    pub(super) fn share(&self, rank: usize, count: usize) -> Range<usize> {
        count * rank / self.size..count * (rank + 1) / self.size
    }

    /// Fills this member's partial sum.
    pub(super) fn write(&self, sum: Sum, rank: usize, fill: impl FnOnce(&mut [f32])) {
        let mut partial = self.partials[sum as usize][rank]
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        fill(partial.as_mut_slice());
    }

    /// Passes every member's partial sum in order to `show`; only after [`meet`](Team::meet).
    pub(super) fn read(&self, sum: Sum, mut show: impl FnMut(&[f32])) {
        for partial in &self.partials[sum as usize] {
            show(
                partial
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .as_slice(),
            );
        }
    }

    /// Returns when all members have called it equally often.
    ///
    /// # Errors
    /// [`Broken`] when a member panicked and will not come.
    pub(super) fn meet(&self) -> Result<(), Broken> {
        if self.size == 1 {
            return Ok(());
        }
        let meeting = self.meeting.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.meeting
                .store(meeting.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
        spin_until(|| {
            let met = self.meeting.load(Ordering::Acquire) != meeting;
            let broken = self.broken.load(Ordering::Relaxed);
            (met || broken).then_some(())
        });
        match self.broken.load(Ordering::Relaxed) {
            true => Err(Broken),
            false => Ok(()),
        }
    }

    /// Releases the members that wait for a member that panicked.
    pub(super) fn abandon(&self) {
        self.broken.store(true, Ordering::Release);
    }
}

/// Waits for an imminent change by another running thread.
pub(super) fn spin_until<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let mut spins = 0;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        match spins < SPINS_BEFORE_YIELD {
            true => {
                spins += 1;
                std::hint::spin_loop();
            }
            false => std::thread::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn shares_cover_everything_once() {
        for size in 1..=12 {
            let team = Team::new(size, 0);
            let covered: Vec<usize> = (0..size).flat_map(|rank| team.share(rank, 12)).collect();
            assert_eq!(covered, (0..12).collect::<Vec<_>>(), "team of {size}");
        }
    }

    #[test]
    fn every_member_sees_every_partial_sum_of_the_same_round() {
        let team = Arc::new(Team::new(3, 1));
        let members: Vec<_> = (0..3)
            .map(|rank| {
                let team = Arc::clone(&team);
                std::thread::spawn(move || {
                    for round in 0..200 {
                        let sum = [Sum::Attention, Sum::Inner][round % 2];
                        team.write(sum, rank, |partial| partial[0] = (round * 3 + rank) as f32);
                        team.meet().unwrap();
                        let mut seen = Vec::new();
                        team.read(sum, |partial| seen.push(partial[0]));
                        let expected: Vec<f32> =
                            (0..3).map(|member| (round * 3 + member) as f32).collect();
                        assert_eq!(seen, expected);
                    }
                })
            })
            .collect();
        for member in members {
            member.join().unwrap();
        }
    }

    #[test]
    fn a_member_that_panics_releases_the_others() {
        let team = Arc::new(Team::new(2, 0));
        let waiting = {
            let team = Arc::clone(&team);
            std::thread::spawn(move || team.meet())
        };
        team.abandon();
        assert_eq!(waiting.join().unwrap(), Err(Broken));
    }
}
