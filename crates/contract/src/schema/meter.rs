//! Counts the work of one validation, and ends it when its budget is spent. Must not know schemas.
//!
//! The validator has no budget of its own. It reads values through a representation that the caller may supply
//! ([`super::counted`]), so each access is charged here. Once the budget is spent, values appear empty and the
//! validator finishes; its verdict is then discarded.
//!
//! The count is thread-local, because field names reach the validator as values of their own that cannot hold a
//! reference to it.

use std::cell::Cell;

/// Stack reserved for the validator after its budget is spent, in bytes.
const STACK_RESERVE: usize = 2 << 20;

/// Bytes of text per step.
const TEXT_UNIT: usize = 64;

/// Steps for dividing numbers of very different sizes, which is done digit by digit.
pub(crate) const LONG_DIVISION: u64 = 256;

/// Whether a dividend or divisor is small enough to be divided in one step.
pub(crate) fn is_plain(number: f64) -> bool {
    (1e-20..1e20).contains(&number.abs())
}

/// The costs of accesses that depend on the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Costs {
    /// Steps for 64 bytes of a text, according to the most expensive pattern.
    pub(crate) text: u64,
    /// Number of comparisons of a field's name.
    pub(crate) names: u64,
    /// Steps for a number with a fraction or an exponent.
    pub(crate) fraction: u64,
    /// Whether each access to a list iterates over it.
    pub(crate) marks_items: bool,
    /// Bytes of the schema that one of its faults may hold.
    pub(crate) fault: usize,
    /// Bytes of schema pointers that a fault may hold, per level of the value.
    pub(crate) fault_level: usize,
}

impl Costs {
    /// The costs of a schema without name patterns or other expensive features.
    pub(crate) const PLAIN: Self = Self {
        text: 1,
        names: 1,
        fraction: 1,
        marks_items: false,
        fault: 0,
        fault_level: 0,
    };

    pub(super) fn of_text(self, bytes: usize) -> u64 {
        self.text.saturating_mul(bytes as u64) / TEXT_UNIT as u64
    }

    pub(super) fn of_name(self, bytes: usize) -> u64 {
        self.names.saturating_mul(1 + self.of_text(bytes))
    }
}

/// The limits of one validation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Number of accesses to values.
    pub(super) steps: u64,
    /// Number of recorded faults. If it is above 0, fields are read in order of name.
    pub(super) faults: usize,
}

struct Meter {
    steps: Cell<u64>,
    faults: Cell<usize>,
    spent: Cell<bool>,
    sorted: Cell<bool>,
    costs: Cell<Costs>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            steps: Cell::new(0),
            faults: Cell::new(0),
            spent: Cell::new(true),
            sorted: Cell::new(false),
            costs: Cell::new(Costs::PLAIN),
        }
    };
}

impl Meter {
    fn spend(&self, steps: u64) -> bool {
        let left = self.steps.get();
        if self.spent.get() || left < steps || stack_is_low() {
            self.spent.set(true);
            return false;
        }
        self.steps.set(left - steps);
        true
    }
}

/// Runs `work` within the budget. The result is `None` if the budget was spent; the second value is the number of
/// steps.
pub(super) fn with_budget<T>(
    budget: Budget,
    costs: Costs,
    work: impl FnOnce() -> T,
) -> (Option<T>, u64) {
    METER.with(|meter| {
        meter.steps.set(budget.steps);
        meter.faults.set(budget.faults);
        meter.sorted.set(budget.faults > 0);
        meter.costs.set(costs);
        meter.spent.set(false);
        let done = work();
        let took = budget.steps - meter.steps.get();
        let spent = meter.spent.replace(true);
        ((!spent).then_some(done), took)
    })
}

/// Charges for work. If it returns false, the caller must not do the work.
pub(super) fn spend(steps: u64) -> bool {
    METER.with(|meter| meter.spend(steps))
}

/// Charges for recording a fault.
pub(super) fn spend_fault() -> bool {
    METER.with(|meter| match meter.faults.get().checked_sub(1) {
        Some(left) => {
            meter.faults.set(left);
            meter.spend(1)
        }
        None => {
            meter.spent.set(true);
            false
        }
    })
}

pub(super) fn costs() -> Costs {
    METER.with(|meter| meter.costs.get())
}

/// Whether fields are read in order of name instead of insertion order.
pub(super) fn is_sorted() -> bool {
    METER.with(|meter| meter.sorted.get())
}

fn stack_is_low() -> bool {
    stacker::remaining_stack().is_some_and(|left| left < STACK_RESERVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deeply::deeply;

    const FEW: Budget = Budget {
        steps: 10,
        faults: 1,
    };

    #[test]
    fn work_within_the_budget_is_done_and_counted() {
        let done = deeply(|| with_budget(FEW, Costs::PLAIN, || spend(4) && spend(6)));
        assert_eq!(done, (Some(true), 10));
    }

    #[test]
    fn after_the_budget_is_spent_no_work_is_done() {
        let done = deeply(|| {
            with_budget(FEW, Costs::PLAIN, || {
                assert!(spend(9) && !spend(2));
                assert!(!spend(0));
            })
        });
        assert_eq!(done, (None, 9));
        let faults = deeply(|| with_budget(FEW, Costs::PLAIN, || spend_fault() && spend_fault()));
        assert_eq!(faults.0, None);
        assert!(!spend(0), "outside of a validation nothing is paid for");
    }

    #[test]
    fn recursion_ends_before_the_stack_does() {
        fn down(level: usize) -> usize {
            let held = std::hint::black_box([level; 512]);
            if spend(1) { down(held[0] + 1) } else { level }
        }
        let budget = Budget {
            steps: u64::MAX,
            faults: 0,
        };
        let (done, took) = deeply(|| with_budget(budget, Costs::PLAIN, || down(0)));
        assert_eq!(done, None);
        assert!(took > 100, "{took}");
    }

    #[test]
    fn each_comparison_of_a_name_is_charged() {
        let costs = Costs {
            names: 3,
            ..Costs::PLAIN
        };
        assert_eq!((costs.of_name(4), costs.of_name(128)), (3, 9));
        assert_eq!((costs.of_text(63), costs.of_text(640)), (0, 10));
    }
}
