//! Kinds of text with a recognisable form: addresses, regions, dates and others.

use core::net::IpAddr;

/// The maximum length of an examined text, in bytes.
pub(super) const LONGEST: usize = 512;

/// A kind of text with a recognisable form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `ann@example.com`
    Email,
    /// `https://example.com/a`
    Link,
    /// `arn:aws:s3:::bucket`
    Arn,
    /// `10.0.0.1`
    Address,
    /// `10.0.0.0/8`
    Network,
    /// `550e8400-e29b-41d4-a716-446655440000`
    Uuid,
    /// `eu-west-1`
    Region,
    /// `eu-west-1a`
    Zone,
    /// `europe-west1`
    CloudRegion,
    /// `v1.4.2`
    Version,
    /// `/var/log/syslog`
    Path,
    /// `shop.example.com`
    Host,
    /// `09:30`
    Clock,
    /// `2026-04-14`
    Date,
    /// `2026-04-14T12:00:00Z`
    Moment,
    /// `P7D`
    Period,
    /// `12.50`
    Number,
}

/// A test for a kind of text.
type Test = fn(&str) -> bool;

/// Returns the kind of a text, if it has one.
pub(super) fn kind(text: &str) -> Option<Kind> {
    if text.is_empty() || text.len() > LONGEST || text.contains(char::is_whitespace) {
        return None;
    }
    let tests: [(Kind, Test); 17] = [
        (Kind::Link, |text| text.contains("://")),
        (Kind::Arn, |text| {
            text.starts_with("arn:") && text.matches(':').count() >= 5
        }),
        (Kind::Email, is_email),
        (Kind::Moment, is_moment),
        (Kind::Date, is_date),
        (Kind::Uuid, is_uuid),
        (Kind::Number, |text| super::numbers::written(text).is_some()),
        (Kind::Network, is_network),
        (Kind::Address, |text| text.parse::<IpAddr>().is_ok()),
        (Kind::Clock, is_clock),
        (Kind::Region, is_region),
        (Kind::Zone, |text| {
            text.strip_suffix(char::is_alphabetic)
                .is_some_and(is_region)
        }),
        (Kind::CloudRegion, is_cloud_region),
        (Kind::Period, is_period),
        (Kind::Version, is_version),
        (Kind::Path, |text| {
            text.starts_with(['/', '~']) || text.starts_with("./")
        }),
        (Kind::Host, is_host),
    ];
    let found = tests.iter().find(|(_, is_one)| is_one(text));
    found.map(|(kind, _)| *kind)
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else {
        return false;
    };
    !name.is_empty() && !host.contains('@') && is_host(host)
}

/// `dddd-dd-dd`
pub(super) fn is_date(text: &str) -> bool {
    has_form(text, "dddd-dd-dd")
}

/// Returns whether a text is a date followed by a time.
pub(super) fn is_moment(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    is_date(date) && time.starts_with(|c: char| c.is_ascii_digit()) && time.contains(':')
}

fn is_clock(text: &str) -> bool {
    ["d:dd", "dd:dd", "dd:dd:dd"]
        .iter()
        .any(|form| has_form(text, form))
}

fn has_form(text: &str, form: &str) -> bool {
    let fits = |(c, wanted)| {
        if wanted == 'd' {
            char::is_ascii_digit(&c)
        } else {
            c == wanted
        }
    };
    text.len() == form.len() && text.chars().zip(form.chars()).all(fits)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    address.parse::<IpAddr>().is_ok() && bits.parse::<u8>().is_ok()
}

/// The directions in names of regions.
const DIRECTIONS: [&str; 9] = [
    "north",
    "south",
    "east",
    "west",
    "central",
    "northeast",
    "northwest",
    "southeast",
    "southwest",
];

/// The parts of the world in names of regions, for all clouds.
const AREAS: [&str; 17] = [
    "us",
    "eu",
    "ap",
    "sa",
    "ca",
    "me",
    "af",
    "il",
    "mx",
    "cn",
    "europe",
    "asia",
    "australia",
    "northamerica",
    "southamerica",
    "africa",
    "us-gov",
];

fn is_area(text: &str) -> bool {
    AREAS.contains(&text) || (text.len() == 2 && text.chars().all(|c| c.is_ascii_lowercase()))
}

fn is_region(text: &str) -> bool {
    let Some((rest, number)) = text.rsplit_once('-') else {
        return false;
    };
    let Some((area, direction)) = rest.rsplit_once('-') else {
        return false;
    };
    let area = area
        .strip_suffix("-gov")
        .or_else(|| area.strip_suffix("-iso"))
        .unwrap_or(area);
    let digits =
        !number.is_empty() && number.len() <= 2 && number.chars().all(|c| c.is_ascii_digit());
    digits && DIRECTIONS.contains(&direction) && is_area(area)
}

fn is_cloud_region(text: &str) -> bool {
    let Some((area, place)) = text.split_once('-') else {
        return false;
    };
    let direction = place.trim_end_matches(|c: char| c.is_ascii_digit());
    direction.len() < place.len() && DIRECTIONS.contains(&direction) && is_area(area)
}

/// Returns whether a text is the beginning of a region: `us-west`, `eu-west1`.
pub(super) fn is_like_region(text: &str) -> bool {
    let Some((area, place)) = text.split_once('-') else {
        return false;
    };
    let direction = place.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    AREAS.contains(&area) && DIRECTIONS.contains(&direction)
}

fn is_period(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else {
        return false;
    };
    rest.chars()
        .all(|c| c.is_ascii_digit() || "YMWDTHS.".contains(c))
        && rest.ends_with(|c: char| c.is_ascii_uppercase() && c != 'T')
        && rest.contains(|c: char| c.is_ascii_digit())
}

/// `v2`, `v2.14`, `1.4.2`, `1.4.2-rc.1`
fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let (bare, least) = match core.strip_prefix(['v', 'V']) {
        Some(bare) => (bare, 1),
        None => (core, 3),
    };
    let parts: Vec<&str> = bare.split('.').collect();
    let number = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    (least..=4).contains(&parts.len()) && parts.iter().all(number)
}

fn is_host(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let label = |label: &&str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let letters = |label: &&str| label.len() >= 2 && label.chars().all(|c| c.is_ascii_alphabetic());
    labels.len() >= 2 && labels.iter().all(label) && labels.last().is_some_and(letters)
}
