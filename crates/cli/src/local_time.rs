//! Times for people: in the time zone of this machine, and as ages. Must not know tables.

use charter_contract::time::Timestamp;
use jiff::tz::TimeZone;

/// Seconds of the units of an age.
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A timestamp's text as local time, to the second; `None` for other text.
pub(crate) fn local(text: &str) -> Option<String> {
    let time = Timestamp::parse(text).ok()?;
    Some(in_zone(time, TimeZone::system()))
}

fn in_zone(time: Timestamp, zone: TimeZone) -> String {
    let local = time.as_jiff().to_zoned(zone);
    local.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The time from one point to another, in its largest whole unit: `5 min`. Zero if the second is earlier.
pub(crate) fn age(from: Timestamp, to: Timestamp) -> String {
    let micros = to.as_micros().saturating_sub(from.as_micros());
    let seconds = (micros / 1_000_000).max(0);
    match seconds {
        seconds if seconds < MINUTE => format!("{seconds} s"),
        seconds if seconds < HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::Offset;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn a_time_is_shown_in_the_zone_to_the_second() {
        let zone = Offset::constant(2).to_time_zone();
        let shown = in_zone(at("2026-04-14T23:30:05.123Z"), zone);
        assert_eq!(shown, "2026-04-15 01:30:05");
        assert_eq!(local("pending"), None);
        assert_eq!(local("2026"), None);
    }

    #[test]
    fn an_age_has_one_unit() {
        let start = at("2026-04-14T12:00:00Z");
        for (end, shown) in [
            ("2026-04-14T11:00:00Z", "0 s"),
            ("2026-04-14T12:00:59Z", "59 s"),
            ("2026-04-14T12:05:59Z", "5 min"),
            ("2026-04-16T11:59:59Z", "47 h"),
            ("2026-04-17T12:00:00Z", "3 d"),
        ] {
            assert_eq!(age(start, at(end)), shown, "{end}");
        }
    }
}
