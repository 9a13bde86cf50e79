//! Schedules: the times at which they fire, the occurrences that are due, and what an occurrence found compared with
//! the one before. Functions of the given time; no clock, no storage.

mod cron;
mod due;
mod report;

pub use cron::{CronError, CronSchedule};
pub use due::{DueOccurrences, Missed, StartDecision, Timing, delay, may_start};
pub use report::{ItemChange, ReportItem, ScheduleReport, compare, matches_trigger, report_path};

#[cfg(test)]
mod tests;
