//! `ostler lab`: the scripted Messages API for people.

use super::face::Face;
use crate::exit::Exit;
use crate::failure::{Failure, Kind, UsageError};
use crate::json::LabDocument;
use crate::view::{Style, clip, dollars, one_line, tokens};
use clap::Args;
use claude_lab::blocking::LabThread;
use claude_lab::{LabConfig, LoggedRequest, Script};
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::signals::{Signal, Signals};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Runs a scripted Messages API on this machine, so that claude works without an account and without cost.
///
/// It prints the environment that makes claude talk to it, then a line for every request, and at the end what it would
/// have cost. `ostler run --lab` needs none of this: it starts a lab by itself.
///
/// Examples:
///
///     ostler lab
///     ostler lab --file answers.lab --port 8400
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct LabArgs {
    /// The script [default: one that answers anything]
    #[arg(long, value_name = "FILE", alias = "script")]
    file: Option<PathBuf>,
    /// The port [default: a free one]
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
    port: u16,
    /// Keep the cache model and the request log here
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// How often new requests are looked for.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn lab(args: &LabArgs, face: &Face) -> Result<Exit, Failure> {
    let scripts = match &args.file {
        None => Vec::new(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| UsageError::File { path: path.clone(), source })?;
            vec![Script::parse(&text)?]
        }
    };
    let failed = |e| Failure::new(Kind::Output, e);
    let signals =
        Signals::install(&[Signal::Interrupt, Signal::Terminate, Signal::Hangup]).map_err(failed)?;
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let lab =
        LabThread::start(LabConfig { addr, scripts, state_dir: args.state.clone(), ..LabConfig::default() })?;
    announce(face, &lab.base_url())?;
    let mut shown = 0;
    loop {
        let mut poller = Poller::new();
        poller.add(signals.source(), Interest::Read);
        let heard = poller.wait(Some(Instant::now() + LOOK)).map_err(failed)? > 0;
        if !face.json && !face.quiet {
            let new = lab.requests().into_iter().filter(|r| r.seq > shown && r.status != 0);
            for request in new.collect::<Vec<_>>() {
                face.print(&line(face, &request))?;
                shown = request.seq;
            }
        }
        if heard {
            break;
        }
    }
    if !face.json && !face.quiet {
        let total = lab.bill().total();
        face.remark(&format!(
            "{} requests, {} tokens in, {} out, {} at list price",
            total.requests,
            tokens(total.tokens.whole_input()),
            tokens(total.tokens.output),
            dollars(Some(total.usd))
        ));
    }
    Ok(Exit::Completed)
}

/// What makes claude talk to the lab and to nobody else (protocol page, "Getting the real CLI, offline").
fn environment(url: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("ANTHROPIC_API_KEY", "lab".to_owned()),
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("DISABLE_ERROR_REPORTING", "1".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
    ])
}

fn announce(face: &Face, url: &str) -> Result<(), Failure> {
    let environment = environment(url);
    if face.json {
        return face.document(&LabDocument { url: url.to_owned(), environment });
    }
    let exports: String =
        environment.iter().map(|(name, value)| format!("export {name}={value}\n")).collect();
    face.print(&exports)?;
    if !face.quiet {
        face.remark("the lab listens; Ctrl-C ends it");
    }
    Ok(())
}

fn line(face: &Face, request: &LoggedRequest) -> String {
    let style = if request.status < 400 { Style::Good } else { Style::Warn };
    let status = face.paint.apply(style, &request.status.to_string());
    let model = request.model.as_deref().map(|m| format!("  {}", one_line(m))).unwrap_or_default();
    let path = request.path.split('?').next().unwrap_or_default();
    let text = clip(&one_line(&request.text), 60);
    format!("{:>4}  {status}  {} {}{model}  {text}\n", request.seq, request.method, one_line(path))
}
