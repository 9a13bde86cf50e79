//! How long to wait before a request is retried: backoff with jitter, and the provider's `Retry-After` (RFC 9110,
//! section 10.2.3). Does not sleep; randomness is injected.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, RETRY_AFTER};

/// OpenAI's finer form of `Retry-After`, in milliseconds.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// A source of numbers from 0 to 1.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Retry policy for transient failures.
#[derive(Clone)]
pub struct RetryPolicy {
    /// Number of retries in one call, over all its repairs.
    pub retries: u32,
    /// The pause before the first retry; it doubles with each further retry.
    pub first_pause: Duration,
    /// The longest pause. If a provider requests a longer one, there is no retry.
    pub longest_pause: Duration,
    /// Randomness that spreads the retries of concurrent callers.
    pub jitter: Jitter,
}

impl RetryPolicy {
    /// Default number of retries.
    pub const RETRIES: u32 = 3;
    /// Default first pause.
    pub const FIRST_PAUSE: Duration = Duration::from_millis(500);
    /// Default longest pause.
    pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);

    /// Returns the pause before retry number `retry`, counted from 0: half of it fixed, half random; at least the pause
    /// that the provider requests. Returns nothing if the provider requests more than the longest pause.
    pub(crate) fn pause(&self, retry: u32, asked: Option<Duration>) -> Option<Duration> {
        if asked.is_some_and(|asked| asked > self.longest_pause) {
            return None;
        }
        let doubled = self.first_pause.saturating_mul(1 << retry.min(16));
        let bounded = doubled.min(self.longest_pause);
        let chance = (self.jitter)().clamp(0.0, 1.0);
        let pause = bounded.mul_f64(0.5 + 0.5 * chance);
        Some(match asked {
            // A little later than requested, and not all callers at the same time.
            Some(asked) => asked + self.first_pause.mul_f64(chance),
            None => pause,
        })
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: Self::RETRIES,
            first_pause: Self::FIRST_PAUSE,
            longest_pause: Self::LONGEST_PAUSE,
            jitter: Arc::new(fastrand::f64),
        }
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience")
            .field("retries", &self.retries)
            .field("first_pause", &self.first_pause)
            .field("longest_pause", &self.longest_pause)
            .finish_non_exhaustive()
    }
}

/// Reads the pause that a provider requests: seconds, milliseconds, or until a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(ms) = text(&RETRY_AFTER_MS).and_then(number) {
        return Duration::try_from_secs_f64(ms / 1_000.0).ok();
    }
    let asked = text(&RETRY_AFTER)?;
    match number(asked) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => {
            let until = httpdate::parse_http_date(asked).ok()?;
            Some(until.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(chance: f64) -> RetryPolicy {
        RetryPolicy {
            retries: 3,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(1),
            jitter: Arc::new(move || chance),
        }
    }

    #[test]
    fn pauses_double_up_to_the_maximum_with_jitter() {
        let pauses = |chance| -> Vec<u128> {
            let pause = |retry| patience(chance).pause(retry, None).unwrap().as_millis();
            [0, 1, 2, 3, 4, 40].map(pause).to_vec()
        };
        assert_eq!(pauses(1.0), [100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(pauses(0.0), [50, 100, 200, 400, 500, 500]);
    }

    #[test]
    fn retry_after_is_respected_up_to_the_longest_pause() {
        let pause = |asked_ms| patience(0.5).pause(0, Some(Duration::from_millis(asked_ms)));
        assert_eq!(pause(700), Some(Duration::from_millis(750)));
        assert_eq!(pause(1_000), Some(Duration::from_millis(1_050)));
        assert_eq!(pause(1_001), None);
    }

    #[test]
    fn retry_after_is_parsed_in_all_its_forms() {
        // Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 90);
        let read = |name: &'static str, value: &'static str| {
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static(name),
                reqwest::header::HeaderValue::from_static(value),
            )]);
            retry_after(&headers, now).map(|wait| wait.as_millis())
        };
        assert_eq!(read("retry-after", "20"), Some(20_000));
        assert_eq!(read("retry-after", "0.25"), Some(250));
        assert_eq!(read("retry-after-ms", "1500"), Some(1_500));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(read("retry-after", date), Some(90_000));
        for nonsense in ["soon", "-1", "NaN", "inf"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }
}
