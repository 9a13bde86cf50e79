//! Units of measure: their words, and exact conversions between them.

use super::numbers::Decimal;

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A unit of time.
    Time(Span),
    /// A currency, by its code.
    Money(&'static str),
    /// A unit of data, with its number of bytes.
    Data(i128),
    /// A percentage.
    Percent,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// A thousandth of a second.
    Millisecond,
    /// A second.
    Second,
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// 24 hours.
    Day,
    /// 7 days.
    Week,
    /// A month of the calendar.
    Month,
    /// Three months.
    Quarter,
    /// Twelve months.
    Year,
}

impl Span {
    /// Returns the unit of a duration that is written with digits and one letter: `7d`.
    pub(super) fn of_letter(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        match text.get(digits.len()..).filter(|_| number)? {
            "s" => Some(Self::Second),
            "m" => Some(Self::Minute),
            "h" => Some(Self::Hour),
            "d" => Some(Self::Day),
            "w" => Some(Self::Week),
            _ => None,
        }
    }

    /// Returns the largest smaller unit into which it divides exactly.
    pub(super) fn smaller(self) -> Option<Self> {
        match self {
            Self::Year | Self::Quarter => Some(Self::Month),
            Self::Week => Some(Self::Day),
            Self::Day => Some(Self::Hour),
            Self::Hour => Some(Self::Minute),
            Self::Minute => Some(Self::Second),
            Self::Second => Some(Self::Millisecond),
            Self::Month | Self::Millisecond => None,
        }
    }

    /// Returns its length in milliseconds, or in months if its number of days varies.
    fn length(self) -> (bool, i128) {
        match self {
            Self::Millisecond => (false, 1),
            Self::Second => (false, 1_000),
            Self::Minute => (false, 60_000),
            Self::Hour => (false, 3_600_000),
            Self::Day => (false, 86_400_000),
            Self::Week => (false, 604_800_000),
            Self::Month => (true, 1),
            Self::Quarter => (true, 3),
            Self::Year => (true, 12),
        }
    }
}

impl Unit {
    /// Returns the unit of a word, in singular or plural.
    pub(super) fn of_word(lower: &str) -> Option<Self> {
        Some(match lower {
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => {
                Self::Time(Span::Millisecond)
            }
            "sec" | "secs" | "second" | "seconds" | "sekunde" | "sekunden" | "segundo"
            | "segundos" | "秒" => Self::Time(Span::Second),
            "min" | "mins" | "minute" | "minutes" | "minuten" | "minuto" | "minutos" | "分钟" => {
                Self::Time(Span::Minute)
            }
            "hr" | "hrs" | "hour" | "hours" | "stunde" | "stunden" | "hora" | "horas"
            | "heures" | "小时" => Self::Time(Span::Hour),
            "day" | "days" | "tag" | "tage" | "tagen" | "día" | "días" | "dia" | "dias"
            | "jour" | "jours" | "天" => Self::Time(Span::Day),
            "week" | "weeks" | "wk" | "wks" | "woche" | "wochen" | "semana" | "semanas" | "周" => {
                Self::Time(Span::Week)
            }
            "month" | "months" | "monat" | "monate" | "monaten" | "mes" | "meses" | "mois"
            | "个月" => Self::Time(Span::Month),
            "quarter" | "quarters" | "quartal" | "quartale" => Self::Time(Span::Quarter),
            "year" | "years" | "yr" | "yrs" | "jahr" | "jahre" | "jahren" | "año" | "años"
            | "ans" | "年" => Self::Time(Span::Year),
            "%" | "percent" | "pct" | "prozent" => Self::Percent,
            _ => return Self::money(lower).or_else(|| Self::data(lower)),
        })
    }

    fn money(lower: &str) -> Option<Self> {
        let code = match lower {
            "€" | "eur" | "euro" | "euros" | "欧元" => "eur",
            "$" | "usd" | "dollar" | "dollars" | "bucks" | "美元" => "usd",
            "£" | "gbp" | "pound" | "pounds" | "quid" => "gbp",
            "¥" | "jpy" | "yen" => "jpy",
            "₹" | "inr" | "rupee" | "rupees" => "inr",
            "chf" | "franc" | "francs" | "franken" => "chf",
            "cny" | "yuan" | "元" => "cny",
            "aud" => "aud",
            "cad" => "cad",
            "sek" => "sek",
            "nok" => "nok",
            "dkk" => "dkk",
            "pln" => "pln",
            "cent" | "cents" => "cents",
            "penny" | "pence" => "pence",
            _ => return None,
        };
        Some(Self::Money(code))
    }

    fn data(lower: &str) -> Option<Self> {
        let (base, power) = match lower {
            "byte" | "bytes" => (1_000_i128, 0),
            "kb" | "kilobyte" | "kilobytes" => (1_000, 1),
            "mb" | "megabyte" | "megabytes" => (1_000, 2),
            "gb" | "gigabyte" | "gigabytes" | "gig" | "gigs" => (1_000, 3),
            "tb" | "terabyte" | "terabytes" => (1_000, 4),
            "kib" => (1_024, 1),
            "mib" => (1_024, 2),
            "gib" => (1_024, 3),
            "tib" => (1_024, 4),
            _ => return None,
        };
        Some(Self::Data(base.pow(power)))
    }

    /// Returns the unit of letters right after a number: `7d`, `30m`, `35€`.
    pub(super) fn of_suffix(lower: &str) -> Option<Self> {
        match lower {
            "s" => Some(Self::Time(Span::Second)),
            "m" => Some(Self::Time(Span::Minute)),
            "h" => Some(Self::Time(Span::Hour)),
            "d" => Some(Self::Time(Span::Day)),
            "w" => Some(Self::Time(Span::Week)),
            "y" => Some(Self::Time(Span::Year)),
            other => Self::of_word(other),
        }
    }

    /// Returns whether numbers of two units are comparable.
    pub(super) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Time(_), Self::Time(_))
            | (Self::Money(_), Self::Money(_))
            | (Self::Data(_), Self::Data(_))
            | (Self::Percent, Self::Percent) => true,
            (Self::Time(_) | Self::Money(_) | Self::Data(_) | Self::Percent, _) => false,
        }
    }

    /// Returns the hundredth of a currency, if it has one.
    pub(super) fn hundredths(self) -> Option<Self> {
        match self {
            Self::Money("eur" | "usd" | "aud" | "cad") => Some(Self::Money("cents")),
            Self::Money("gbp") => Some(Self::Money("pence")),
            Self::Money(_) | Self::Time(_) | Self::Data(_) | Self::Percent => None,
        }
    }

    /// Returns the sum of a number of this unit and a number of a smaller unit that may follow it, with the sum's unit:
    /// "20 euros 50 cents", "1 hour 30 minutes".
    pub(super) fn with_smaller(
        self,
        number: Decimal,
        small: Self,
        more: Decimal,
    ) -> Option<(Decimal, Self)> {
        match (self, small) {
            (Self::Money(_), Self::Money(_)) => {
                let part = self.hundredths() == Some(small);
                let below = more.as_whole().is_some_and(|more| (0..100).contains(&more));
                let sum = number.sum(more.scaled(1, 100)?);
                Some((sum.filter(|_| part && below)?, self))
            }
            (Self::Time(large), Self::Time(small_span)) => {
                let ((calendar, large), (other, short)) = (large.length(), small_span.length());
                let smaller = calendar == other && large > short;
                let sum = self.convert(number, small)?.sum(more).filter(|_| smaller)?;
                Some((sum, small))
            }
            (Self::Money(_) | Self::Time(_) | Self::Data(_) | Self::Percent, _) => None,
        }
    }

    /// Converts a number of this unit to another unit, if the conversion is exact.
    pub(super) fn convert(self, number: Decimal, to: Self) -> Option<Decimal> {
        match (self, to) {
            (Self::Time(from), Self::Time(to)) => {
                let ((calendar, from), (other, to)) = (from.length(), to.length());
                (calendar == other)
                    .then(|| number.scaled(from, to))
                    .flatten()
            }
            (Self::Data(from), Self::Data(to)) => number.scaled(from, to),
            (from, to) => (from == to).then_some(number),
        }
    }
}
