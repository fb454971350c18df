//! Log lines: which, in which form, and how they leave.
//!
//! A level opens our own lines only: another crate's could hold what somebody said. Nobody waits for a reader of the log: lines
//! leave through a queue, and where that is full they are counted and dropped.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// How many lines may wait to be written.
const WAITING: usize = 1024;
/// How long the end of the program waits for them.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Which lines there are: these and all above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// What should not happen.
    Error,
    /// What may need somebody.
    Warn,
    /// Requests, and what the server does by itself.
    Info,
    /// Connections that break off, and the like.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    const fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

/// Writes log lines to `out`, until what is given back is dropped; that waits up to 1 s for lines that are under way. The
/// first caller of a process decides.
///
/// # Errors
/// The thread that writes can't be started.
pub fn log_to(level: LogLevel, format: LogFormat, out: impl Write + Send + 'static) -> io::Result<Logging> {
    let (lines, waiting) = mpsc::sync_channel(WAITING);
    std::thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(&waiting, out))?;
    let queue = Queue { lines: lines.clone(), dropped: Arc::default() };
    // A reader of the log that is gone is no reason to say so on the same stream.
    let layer = fmt::layer().with_writer(queue).log_internal_errors(false).with_target(false);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => {
            layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
        }
    };
    let ours = Targets::new().with_target("ostler", level.filter());
    // An error: somebody was first.
    let _ = tracing_subscriber::registry().with(layer.with_filter(ours)).try_init();
    Ok(Logging { lines })
}

/// As long as it lives, somebody writes the lines.
#[derive(Debug)]
pub struct Logging {
    lines: SyncSender<Job>,
}

impl Drop for Logging {
    fn drop(&mut self) {
        let (done, written) = mpsc::channel();
        if self.lines.try_send(Job::Flush(done)).is_ok() {
            let _ = written.recv_timeout(FLUSH_WITHIN);
        }
    }
}

#[derive(Debug)]
enum Job {
    Line(Vec<u8>),
    Flush(mpsc::Sender<()>),
}

fn write_lines(waiting: &Receiver<Job>, mut out: impl Write) {
    while let Ok(job) = waiting.recv() {
        match job {
            // Nobody is left to be told when that fails.
            Job::Line(line) => drop(out.write_all(&line).and_then(|()| out.flush())),
            Job::Flush(done) => drop(done.send(())),
        }
    }
}

/// Where lines wait. One `write` is one line: that is how they are formatted.
#[derive(Clone, Debug)]
struct Queue {
    lines: SyncSender<Job>,
    dropped: Arc<AtomicU64>,
}

impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let lost = self.dropped.load(Ordering::Relaxed);
        let mut bytes = line.to_vec();
        if lost > 0 {
            // Where a gap is, it is told, in a form that both formats can bear.
            bytes = format!("{{\"dropped\":{lost}}}\n").into_bytes();
            bytes.extend_from_slice(line);
        }
        match self.lines.try_send(Job::Line(bytes)) {
            Ok(()) => drop(self.dropped.fetch_sub(lost, Ordering::Relaxed)),
            Err(_) => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up() {
        let (lines, waiting) = mpsc::sync_channel(2);
        let mut queue = Queue { lines, dropped: Arc::default() };
        for no in 0..5 {
            assert_eq!(queue.write(format!("{no}\n").as_bytes()).unwrap(), 2);
        }
        let line = |job| match job {
            Job::Line(line) => String::from_utf8(line).unwrap(),
            Job::Flush(_) => panic!("nobody flushes"),
        };
        assert_eq!(
            (line(waiting.recv().unwrap()), line(waiting.recv().unwrap())),
            ("0\n".into(), "1\n".into())
        );
        queue.write_all(b"5\n").unwrap();
        queue.write_all(b"6\n").unwrap();
        assert_eq!(line(waiting.recv().unwrap()), "{\"dropped\":3}\n5\n");
        assert_eq!(line(waiting.recv().unwrap()), "6\n");
    }
}
