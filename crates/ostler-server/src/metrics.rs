//! What `/metrics` says: counts of this server, and figures of the store that are counted now and then.
//!
//! Figures of the store are gauges, for `gc` and `close --purge` make them smaller. They are counted when somebody asks, at
//! most every 15 s and so rarely that it takes a twentieth of the time at most, however large the store is.

use ostler_core::ids::Millis;
use ostler_store::db::Figures;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How old figures of the store may be.
const AGE: Duration = Duration::from_secs(15);
/// How much longer than counting took the next count is away at least.
const REST: u32 = 20;

type By = [(&'static str, String); 1];
type Many = Family<By, Gauge>;
type Float = Gauge<f64, AtomicU64>;

/// All of them.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<[(&'static str, String); 3], Counter>,
    readers: Gauge,
    webhooks: Family<By, Counter>,
    stored: Stored,
    counted: Mutex<Option<Counted>>,
    /// One counts at a time.
    counting: tokio::sync::Mutex<()>,
}

/// What is in the store.
#[derive(Default)]
struct Stored {
    sessions: Many,
    turns: Many,
    stalled: Gauge,
    deliveries: Many,
    open: Gauge,
    oldest: Float,
    tokens: Many,
    dollars: Float,
    unpriced: Gauge,
    deaths: Many,
    age: Float,
}

/// When it was counted, and what changes with time.
#[derive(Clone, Copy)]
struct Counted {
    at: Instant,
    took: Duration,
    oldest: Option<Millis>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut all = Registry::with_prefix("ostler");
        let requests = Family::default();
        let readers = Gauge::default();
        let stored = Stored::default();
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        all.register("build", "The version that runs", build);
        all.register(
            "http_requests",
            "Requests that are over, by route and status; 0: nobody waited for the answer",
            requests.clone(),
        );
        all.register("sse_readers", "Event streams that are open", readers.clone());
        let webhooks = Family::<By, Counter>::default();
        for result in ["sent", "failed", "given_up"] {
            // So that nothing is 0 and not unknown.
            drop(webhooks.get_or_create(&[("result", result.to_owned())]));
        }
        all.register("webhooks", "Attempts to tell of a question, by what became of them", webhooks.clone());
        stored.register(&mut all);
        Self {
            registry: all,
            requests,
            readers,
            webhooks,
            stored,
            counted: Mutex::default(),
            counting: tokio::sync::Mutex::default(),
        }
    }

    /// A request is over.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16) {
        let labels =
            [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
    }

    /// What became of an attempt to tell of a question: `sent`, `failed`, `given_up`.
    pub(crate) fn webhook(&self, result: &str) {
        self.webhooks.get_or_create(&[("result", result.to_owned())]).inc();
    }

    /// An event stream is open, for as long as what is given back lives.
    pub(crate) fn reader(&self) -> Reader {
        self.readers.inc();
        Reader { readers: self.readers.clone() }
    }

    /// Waits for whoever counts; then, whether one should.
    pub(crate) async fn due(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let turn = self.counting.lock().await;
        let counted = *self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let due = counted.is_none_or(|counted| counted.at.elapsed() >= AGE.max(counted.took * REST));
        due.then_some(turn)
    }

    /// The store was counted.
    pub(crate) fn count(&self, figures: &Figures, took: Duration) {
        let oldest = figures.oldest_permission;
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        *counted = Some(Counted { at: Instant::now(), took, oldest });
        self.stored.set(figures);
    }

    /// All of them as text, at `now` by the wall clock.
    pub(crate) fn text(&self, now: Millis) -> String {
        let counted = *self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = counted {
            let seconds = |ms: i64| (ms.max(0) as f64) / 1000.0;
            self.stored.oldest.set(counted.oldest.map_or(0.0, |at| seconds(now.since(at))));
            self.stored.age.set(counted.at.elapsed().as_secs_f64());
        }
        let mut text = String::new();
        // A String takes everything.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Stored {
    fn register(&self, all: &mut Registry) {
        all.register("sessions", "Sessions by state; stopped and closed outrank it", self.sessions.clone());
        all.register("turns", "Turns by outcome, and those that run", self.turns.clone());
        all.register("turns_stalled", "Turns that ended because claude said nothing", self.stalled.clone());
        all.register("deliveries", "Messages by state", self.deliveries.clone());
        all.register("permissions_open", "Questions that wait for somebody", self.open.clone());
        let oldest = "How long the oldest question waits; 0 without one";
        all.register_with_unit("permission_oldest_age", oldest, Unit::Seconds, self.oldest.clone());
        all.register("tokens", "Tokens by class", self.tokens.clone());
        all.register("dollars", "What is known to have been spent", self.dollars.clone());
        all.register("spend_unpriced", "Rows of the ledger without a price", self.unpriced.clone());
        all.register("child_deaths", "Processes of claude that have ended, by how", self.deaths.clone());
        let age = "How old the figures of the store are";
        all.register_with_unit("figures_age", age, Unit::Seconds, self.age.clone());
    }

    fn set(&self, figures: &Figures) {
        set(&self.sessions, "state", &figures.sessions);
        set(&self.turns, "outcome", &figures.turns);
        self.stalled.set(whole(figures.stalled));
        set(&self.deliveries, "state", &figures.deliveries);
        self.open.set(whole(figures.open_permissions));
        let tokens = figures.tokens;
        let classes = [
            ("input", tokens.input),
            ("output", tokens.output),
            ("cache_read", tokens.cache_read),
            ("cache_write_5m", tokens.cache_write_5m),
            ("cache_write_1h", tokens.cache_write_1h),
        ];
        set(&self.tokens, "class", &classes.map(|(class, count)| (class.to_owned(), count)));
        self.dollars.set(figures.usd);
        self.unpriced.set(whole(figures.unpriced));
        set(&self.deaths, "how", &figures.deaths);
    }
}

/// What is not there any more is 0, and not gone.
fn set(family: &Many, label: &'static str, counts: &[(String, u64)]) {
    family.clear();
    for (value, count) in counts {
        family.get_or_create(&[(label, value.clone())]).set(whole(*count));
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// One open event stream.
#[derive(Debug)]
pub(crate) struct Reader {
    readers: Gauge,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.readers.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all() -> String {
        let metrics = Metrics::new();
        metrics.answered("GET", "/healthz", 200);
        let figures = Figures {
            sessions: vec![("idle".to_owned(), 3)],
            turns: vec![("completed".to_owned(), 4)],
            deliveries: vec![("completed".to_owned(), 5)],
            deaths: vec![("clean".to_owned(), 6)],
            open_permissions: 1,
            oldest_permission: Some(Millis(1_000)),
            usd: 0.25,
            ..Figures::default()
        };
        metrics.count(&figures, Duration::ZERO);
        let reader = metrics.reader();
        let text = metrics.text(Millis(3_500));
        assert!(text.contains("ostler_sse_readers 1\n"), "{text}");
        drop(reader);
        metrics.text(Millis(3_500))
    }

    #[test]
    fn it_says_what_was_counted() {
        let text = all();
        for line in [
            "ostler_sessions{state=\"idle\"} 3",
            "ostler_turns{outcome=\"completed\"} 4",
            "ostler_permissions_open 1",
            "ostler_permission_oldest_age_seconds 2.5",
            "ostler_dollars 0.25",
            "ostler_child_deaths{how=\"clean\"} 6",
            "ostler_sse_readers 0",
            "ostler_http_requests_total{method=\"GET\",route=\"/healthz\",status=\"200\"} 1",
            concat!("ostler_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn the_table_in_the_documentation_is_true() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
        let docs = std::fs::read_to_string(path).unwrap();
        let row = |line: &str| Some(line.strip_prefix("| `ostler_")?.split(['`', '{']).next()?.to_owned());
        let written: BTreeSet<String> = docs.lines().filter_map(row).collect();
        let text = all();
        let sample = |line: &str| Some(line.strip_prefix("ostler_")?.split([' ', '{']).next()?.to_owned());
        let real: BTreeSet<String> = text.lines().filter_map(sample).collect();
        assert_eq!(written, real);
    }

    #[tokio::test]
    async fn it_is_not_counted_again_at_once() {
        let metrics = Metrics::new();
        assert!(metrics.due().await.is_some());
        metrics.count(&Figures::default(), Duration::from_secs(3600));
        assert!(metrics.due().await.is_none());
    }
}
