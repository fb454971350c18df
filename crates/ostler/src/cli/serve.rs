//! `ostler serve`.

pub(super) mod bridge;
mod launch;

use super::face::{Face, now};
use crate::exit::Exit;
use crate::failure::{Failure, Kind, UsageError};
use crate::json::ServeDocument;
use bridge::BridgeArgs;
use clap::{Args, ValueEnum};
use launch::Program;
use ostler_os::term::{self, Stream};
use ostler_server::{
    BridgeOptions, HandedDown, Limits, LogFormat, LogLevel, Logging, Options, Ready, Secret, ServeError,
    WebhookOptions, Wider,
};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Where it listens unless told otherwise.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7867);

/// Serves sessions over HTTP.
///
/// The server is one more face: sessions that were started here can be steered there and the other way round, and killing it
/// ends none. It listens on loopback and on a socket in the home. Whoever comes by TCP needs the token that stands in the
/// file `token` of the home; over the local socket, your own user needs none.
///
/// Examples:
///
///     ostler serve
///     curl --unix-socket ~/.local/state/ostler/serve.sock http://ostler/v1/sessions
///     curl -H "Authorization: Bearer $(cat ~/.local/state/ostler/token)" http://127.0.0.1:7867/v1/sessions
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ServeArgs {
    /// TCP address to listen on; may be given several times; port 0 is any that is free [default: 127.0.0.1:7867]
    ///
    /// Where a service manager hands sockets down, only those and what is given here are served.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Vec<SocketAddr>,
    /// Listen on the local socket of the home alone
    #[arg(long, conflicts_with = "listen")]
    no_tcp: bool,
    /// A proxy stands in front of it, does TLS, and is called by this name; only so may it listen on more than loopback
    #[arg(long, value_name = "NAME")]
    behind_proxy: Vec<String>,
    /// Tell this URL of every question that waits, signed; https, or http on loopback
    #[arg(long, value_name = "URL", requires = "webhook_secret")]
    webhook: Option<String>,
    /// The file with the secret that those messages are signed with
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_secret: Option<PathBuf>,
    /// How often one of them is tried, with pauses of 1 s to 5 min
    #[arg(long, value_name = "N", default_value_t = 20, requires = "webhook")]
    webhook_attempts: u32,
    /// What log lines on standard error look like [default: text on a terminal, json elsewhere]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<FormatChoice>,
    /// Which log lines there are: this kind and all above [default: $OSTLER_LOG, else info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LevelChoice>,
    /// Do not listen on the local socket of the home, for another server does
    #[arg(long)]
    no_socket: bool,
    /// Serve the bridge contract too, on a port of its own and below /v1/task everywhere
    #[arg(long)]
    bridge: bool,
    /// The directory that the bridge is for [default: this one]
    #[arg(long, value_name = "DIR", requires = "bridge")]
    bridge_cwd: Option<String>,
    #[command(flatten)]
    bridge_args: BridgeArgs,
}

/// What a log line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormatChoice {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Log lines of this kind and all above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LevelChoice {
    /// What should not happen
    Error,
    /// What may need somebody
    Warn,
    /// Requests, and what the server does by itself
    Info,
    /// Connections that break off, and the like
    Debug,
    /// Everything
    Trace,
}

pub(super) fn serve(args: &ServeArgs, face: &Face) -> Result<Exit, Failure> {
    let handed_down = HandedDown::take().map_err(ServeError::from)?;
    // Held to the end: it writes what is left.
    let _logging = log(args)?;
    let webhook = webhook(args)?;
    let ostler = face.open()?;
    let bridge = if args.bridge { Some(bridge_options(args)?) } else { None };
    let mut listen = args.listen.clone();
    if listen.is_empty() && handed_down.is_empty() && !args.no_tcp {
        listen.push(USUAL);
    }
    let options = Options {
        handed_down,
        listen,
        local: !args.no_socket,
        bridge,
        webhook,
        wider: (!args.behind_proxy.is_empty()).then(|| Wider { hosts: args.behind_proxy.clone() }),
        owner: ostler_os::me::uid(),
        now,
        limits: Limits::default(),
    };
    if let Err(error) = ostler_os::limits::raise_open_files() {
        face.remark(&format!("the limit of open files stays as it is: {error}"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|e| Failure::new(Kind::Server, e))?;
    let served = runtime.block_on(async {
        let ended = ostler_server::ended().map_err(|e| Failure::new(Kind::Server, e))?;
        let told = |ready: Ready| tell(face, &ready);
        let served = ostler_server::serve(ostler, options, Box::new(Program), told, ended).await;
        served.map_err(Failure::from)
    });
    // What still waits for a child is told by the store, not by us.
    runtime.shutdown_background();
    served.map(|()| Exit::Completed)
}

fn webhook(args: &ServeArgs) -> Result<Option<WebhookOptions>, Failure> {
    let Some((url, secret)) = args.webhook.clone().zip(args.webhook_secret.as_deref()) else {
        return Ok(None);
    };
    let secret = Secret::of_file(secret).map_err(ServeError::from)?;
    Ok(Some(WebhookOptions { url, secret, attempts: args.webhook_attempts }))
}

fn log(args: &ServeArgs) -> Result<Logging, Failure> {
    let format = match args.log_format {
        Some(FormatChoice::Text) => LogFormat::Text,
        Some(FormatChoice::Json) => LogFormat::Json,
        None if term::is_tty(Stream::Stderr) => LogFormat::Text,
        None => LogFormat::Json,
    };
    let level = match args.log_level {
        Some(level) => level,
        None => level_of(std::env::var_os("OSTLER_LOG"))?,
    };
    let level = match level {
        LevelChoice::Error => LogLevel::Error,
        LevelChoice::Warn => LogLevel::Warn,
        LevelChoice::Info => LogLevel::Info,
        LevelChoice::Debug => LogLevel::Debug,
        LevelChoice::Trace => LogLevel::Trace,
    };
    ostler_server::log_to(level, format, io::stderr()).map_err(|e| Failure::new(Kind::Server, e))
}

/// The level that the environment names.
fn level_of(named: Option<OsString>) -> Result<LevelChoice, Failure> {
    let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(LevelChoice::Info) };
    let named = named.to_string_lossy().into_owned();
    LevelChoice::from_str(&named, true).map_err(|_| Failure::new(Kind::Usage, UsageError::LogLevel { named }))
}

fn bridge_options(args: &ServeArgs) -> Result<BridgeOptions, Failure> {
    let cwd = args.bridge_cwd.clone().map_or_else(bridge::here, Ok)?;
    args.bridge_args.options(&cwd)
}

/// Where it can be reached; nobody is left to be told when that fails.
fn tell(face: &Face, ready: &Ready) {
    if face.json {
        let _ = face.document(&ServeDocument::of(ready));
        return;
    }
    for address in &ready.addresses {
        let _ = face.print(&format!("http://{address}\n"));
    }
    if let Some(bridge) = &ready.bridge {
        let _ = face.print(&format!("http://{} (bridge)\n", bridge.address));
    }
    if let Some(socket) = &ready.socket {
        let _ = face.print(&format!("{}\n", socket.display()));
    }
    if !face.quiet {
        face.remark(&format!("the token for TCP stands in {}", ready.token_file.display()));
        match &ready.bridge {
            Some(bridge) if bridge.home_mode => face.remark("the bridge asks for no key (H2C_HOME=1)"),
            Some(bridge) => face.remark(&format!("the bridge's key stands in {}", bridge.key_file.display())),
            None => {}
        }
    }
}
