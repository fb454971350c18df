//! `ostler bridge`: the bridge of a directory, on and off.

use super::face::Face;
use super::serve::bridge::{BridgeArgs, here, key};
use crate::exit::Exit;
use crate::failure::{Failure, Kind};
use crate::json::BridgeDocument;
use clap::{Args, Subcommand};
use ostler_os::{durable, process, spawn};
use ostler_server::{BridgeKey, BridgePost, Holder, port_of};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Serves this directory to clients of the Hermes bridge.
///
/// A bridge takes tasks over HTTP on a port of loopback that its clients compute from the directory. Tasks are sessions as
/// all others: `ostler ls` lists them, `ostler watch` shows them, and they go on when the bridge is ended. docs/bridge.md
/// says what is served.
///
/// Examples:
///
///     ostler bridge enable
///     ostler bridge status
///     ostler bridge disable
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct BridgeVerb {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Enable(EnableArgs),
    Disable(DisableArgs),
    Status(StatusArgs),
}

/// Starts the bridge of this directory, in the background, and prints where it is and its key.
///
/// Where one runs already nothing is changed. It runs until `ostler bridge disable` or the end of the machine's uptime;
/// `ostler serve --bridge` stays in the foreground instead.
///
/// Examples:
///
///     ostler bridge enable
///     ostler bridge enable --max-concurrent 5 --allow-dir ../other
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct EnableArgs {
    #[command(flatten)]
    bridge: BridgeArgs,
}

/// Ends the bridge of this directory. No task is ended by that: what runs goes on, what waits begins with the next bridge.
///
/// Examples:
///
///     ostler bridge disable
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct DisableArgs {}

/// Tells whether the bridge of this directory runs and answers, by asking it; exits with 7 when it doesn't run.
///
/// Examples:
///
///     ostler bridge status --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct StatusArgs {}

/// How long a bridge may take until it answers.
const START: Duration = Duration::from_secs(20);
/// Between two looks whether it does.
const LOOK: Duration = Duration::from_millis(20);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(2);
/// A larger log of earlier bridges is begun anew, in bytes.
const MAX_LOG: u64 = 1 << 20;
/// How much of its end is looked at, in bytes.
const LAST_WORDS: usize = 2000;

pub(super) fn bridge(verb: &BridgeVerb, face: &Face) -> Result<Exit, Failure> {
    match &verb.what {
        What::Enable(args) => enable(&args.bridge, face),
        What::Disable(_) => disable(face),
        What::Status(_) => status(face),
    }
}

/// Why a bridge that was started doesn't answer.
#[derive(Debug, thiserror::Error)]
enum EnableError {
    /// It has ended.
    #[error("the bridge has ended at once: {words}")]
    Ended {
        /// The last that it said.
        words: String,
    },
    /// It is there and silent.
    #[error("the bridge does not answer at {address}")]
    Silent {
        /// Where it should.
        address: SocketAddr,
    },
}

fn enable(args: &BridgeArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let home = ostler.home().root().to_owned();
    let cwd = here()?;
    // What can be refused is refused here, where somebody reads it.
    let options = args.options(&cwd)?;
    let post = BridgePost::of(&home, &cwd);
    let mut holder = post.holder()?;
    if holder.is_none() {
        holder = Some(start(args, &home, &cwd, &post, options.listen)?);
    }
    tell(face, &cwd, holder.as_ref(), Some(&options.key))?;
    Ok(Exit::Completed)
}

/// Starts it detached, and waits until it answers.
fn start(
    args: &BridgeArgs,
    home: &Path,
    cwd: &str,
    post: &BridgePost,
    address: SocketAddr,
) -> Result<Holder, Failure> {
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| Failure::new(Kind::Server, e);
    post.prepare()?;
    let log = post.log();
    if std::fs::metadata(&log).is_ok_and(|file| file.len() > MAX_LOG) {
        durable::replace_file(&log, b"").map_err(|e| failed(e.into()))?;
    }
    let exe = ostler_os::me::exe().map_err(|e| failed(e.into()))?;
    let mut argv: Vec<OsString> = vec![exe.into_os_string(), "serve".into(), "--home".into(), home.into()];
    // Nobody rotates its log: what clients do all day does not go there.
    argv.extend(
        ["--log-level=warn", "--no-tcp", "--no-socket", "--bridge", "--bridge-cwd"].map(OsString::from),
    );
    argv.push(cwd.into());
    argv.extend(args.words()?);
    // It may be started from inside a session, and must not be taken for a part of that.
    const MARKERS: [&str; 4] = ["OSTLER_SESSION", "OSTLER_GENERATION", "OSTLER_TOKEN", "CLAUDECODE"];
    let env: Vec<_> = std::env::vars_os().filter(|(name, _)| MARKERS.iter().all(|m| name != m)).collect();
    let server = spawn::spawn_detached(&argv, &env, &log).map_err(|e| failed(e.into()))?;
    let until = Instant::now() + START;
    loop {
        if let Some(holder) = post.holder()?
            && holder.pid == server.pid
            && answers(holder.address)
        {
            return Ok(holder);
        }
        if !process::still_is(&server).unwrap_or(false) {
            let failure = failed(EnableError::Ended { words: last_words(&log) }.into());
            return Err(
                failure.hint("--bridge-port names another port; `ostler bridge status` tells who is there")
            );
        }
        if Instant::now() >= until {
            return Err(failed(EnableError::Silent { address }.into()));
        }
        std::thread::sleep(LOOK);
    }
}

fn disable(face: &Face) -> Result<Exit, Failure> {
    let home = face.home()?;
    let cwd = here()?;
    let ended = BridgePost::of(&home, &cwd).vacate()?;
    if face.json {
        face.document(&BridgeDocument::of(&cwd, port_of(&cwd), None, false, None))?;
    } else if !face.quiet {
        match ended {
            Some(holder) => {
                face.print(&format!("the bridge for {cwd} has ended (process {})\n", holder.pid))?
            }
            None => face.print(&format!("no bridge for {cwd} was running\n"))?,
        }
    }
    Ok(Exit::Completed)
}

fn status(face: &Face) -> Result<Exit, Failure> {
    let home = face.home()?;
    let cwd = here()?;
    let holder = BridgePost::of(&home, &cwd).holder()?;
    tell(face, &cwd, holder.as_ref(), None)?;
    Ok(if holder.is_some() { Exit::Completed } else { Exit::NotFound })
}

/// What is known of a bridge; the key only for whoever started it.
fn tell(face: &Face, cwd: &str, holder: Option<&Holder>, started: Option<&BridgeKey>) -> Result<(), Failure> {
    let answering = holder.is_some_and(|holder| answers(holder.address));
    if face.json {
        return face.document(&BridgeDocument::of(cwd, port_of(cwd), holder, answering, started));
    }
    let Some(holder) = holder else {
        return face.print(&format!(
            "bridge: off\n  directory  {cwd}\n  port       {} when it is on\n",
            port_of(cwd)
        ));
    };
    if face.quiet {
        return face.print(&format!("http://{}\n", holder.address));
    }
    let state = if answering { "on" } else { "on, but it does not answer" };
    let mut text = format!("bridge: {state}\n  directory  {cwd}\n  url        http://{}\n", holder.address);
    text.push_str(&match (holder.home_mode, started) {
        (true, _) => "  key        none is asked for (H2C_HOME=1)\n".to_owned(),
        (false, Some(key)) => format!("  key        {}\n", key.text()),
        (false, None) => format!("  key        in {}\n", key()?.path().display()),
    });
    text.push_str(&format!("  tasks      {} at once\n  process    {}\n", holder.max_concurrent, holder.pid));
    face.print(&text)?;
    if started.is_some_and(BridgeKey::is_short) {
        face.remark("the key is an older program's and short; delete its file for a new one");
    }
    Ok(())
}

/// Somebody says that it is well.
fn answers(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
        stream.set_read_timeout(Some(ANSWER))?;
        write!(stream, "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(4096).read_to_end(&mut answer)?;
        Ok::<_, std::io::Error>(answer)
    };
    ask().is_ok_and(|answer| answer.ends_with(b"{\"status\":\"ok\"}"))
}

/// The end of what it said, on one line.
fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS)..]).into_owned();
    let from = text.rfind("error: ").unwrap_or(0);
    let words: Vec<&str> =
        text[from..].lines().map(str::trim).filter(|line| !line.starts_with("hint:")).collect();
    match words.is_empty() {
        true => format!("it said nothing in {}", log.display()),
        false => words.join(", "),
    }
}
