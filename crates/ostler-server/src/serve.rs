//! From options to a running server, and its end.

use crate::app::App;
use crate::bridge::{self, Bridge, BridgeOptions, BridgePost, Holder, PostError};
use crate::connection;
use crate::desk::Desk;
use crate::events::Hub;
use crate::guard::Guard;
use crate::launch::Launch;
use crate::limits::Limits;
use crate::listen::{self, ListenError, Socket, Wider};
use crate::routes;
use crate::service::{self, HandedDown};
use crate::sweep::sweep;
use crate::token::{Token, TokenError};
use crate::webhook::{Webhook, WebhookError, WebhookOptions};
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::Millis;
use ostler_os::lockfile::Lock;
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::signals::{Signal, Signals};
use ostler_os::watch::Backend;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;

/// How long connections may take to come to an end.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What a server is to be.
#[derive(Debug)]
pub struct Options {
    /// TCP addresses; a port 0 is any that is free.
    pub listen: Vec<SocketAddr>,
    /// Sockets that a service manager hands down; served besides.
    pub handed_down: HandedDown,
    /// Listen on the home's local socket too, unless one is handed down. Only one server of a home can.
    pub local: bool,
    /// Somebody stands in front, so that it may listen on more than loopback.
    pub wider: Option<Wider>,
    /// Whom to tell of questions.
    pub webhook: Option<WebhookOptions>,
    /// The user whose home it is.
    pub owner: u32,
    /// Serve the bridge contract too.
    pub bridge: Option<BridgeOptions>,
    /// The wall clock.
    pub now: fn() -> Millis,
    /// What one client may cost.
    pub limits: Limits,
}

/// A server that takes requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// TCP addresses, with the ports that they have.
    pub addresses: Vec<SocketAddr>,
    /// The local socket.
    pub socket: Option<PathBuf>,
    /// Where the token is.
    pub token_file: PathBuf,
    /// The bridge.
    pub bridge: Option<ReadyBridge>,
}

/// A bridge that takes requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyBridge {
    /// Where its clients look for it.
    pub address: SocketAddr,
    /// Where their key is.
    pub key_file: PathBuf,
    /// No key is asked for.
    pub home_mode: bool,
}

/// Why a server can't run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A socket can't be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// There is no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The home can't be used.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nobody can be told of questions.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// Files can't be waited for.
    #[error("cannot wait for files to change")]
    Watch(#[source] io::Error),
    /// Another bridge serves the directory, or nobody can note who does.
    #[error(transparent)]
    Post(#[from] PostError),
    /// Without a key, and open to other machines.
    #[error("H2C_HOME=1 switches the bridge's key off, and so do other machines reach it through a proxy")]
    Open,
    /// Nothing to listen on.
    #[error("there is nothing to listen on: no address and no local socket")]
    Nowhere,
}

/// Serves until `end` resolves, then takes no more connections, lets those under way end for at most 5 s, and leaves. No
/// session is touched by that.
///
/// # Errors
/// Before it is ready, or never.
pub async fn serve(
    ostler: Ostler,
    mut options: Options,
    launch: Box<dyn Launch>,
    ready: impl FnOnce(Ready),
    end: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let home = ostler.home().root().to_owned();
    let token = Token::of_home(&home)?;
    let (mut sockets, socket) = sockets(&mut options, &home)?;
    let native = sockets.iter().filter_map(address).collect();
    let post = match &options.bridge {
        Some(bridge) => Some(take_post(bridge, &options, &home, &mut sockets)?),
        None => None,
    };
    if sockets.is_empty() {
        return Err(ServeError::Nowhere);
    }
    let told = Ready {
        addresses: native,
        bridge: post.as_ref().zip(options.bridge.as_ref()).map(|((_, address), bridge)| ReadyBridge {
            address: *address,
            key_file: bridge.key.path().to_owned(),
            home_mode: bridge.home_mode,
        }),
        socket,
        token_file: home.join("token"),
    };
    let (leave, leaving) = watch::channel(false);
    let hub = Hub::new(Backend::Auto).map_err(ServeError::Watch)?;
    let app =
        App::new(Desk::new(ostler), launch, options.now, leaving.clone(), options.limits, Arc::clone(&hub));
    let guard = Arc::new(Guard::new(token, options.owner, options.wider.as_ref()));
    let bridge = post
        .as_ref()
        .zip(options.bridge.take())
        .map(|((_, at), bridge)| Bridge::new(app.clone(), bridge, *at));
    let dispatcher = bridge.clone().map(|bridge| tokio::spawn(bridge::dispatch(bridge)));
    let router = routes::all(app.clone(), guard, bridge);
    let places = Arc::new(Semaphore::new(options.limits.connections));
    let mut running = JoinSet::new();
    for socket in sockets {
        let (router, places, leaving) = (router.clone(), Arc::clone(&places), leaving.clone());
        running.spawn(connection::accept(socket, router, options.limits, places, leaving));
    }
    drop(router);
    running.spawn(sweep(app.clone()));
    // Held for as long as the webhook is to work.
    let _webhook = webhook(&app, &mut options, &home, &told)?;
    let watched = tokio::spawn(service::watched());
    let bells = tokio::spawn(Arc::clone(&hub).run());
    ready(told);
    service::tell_ready();
    end.await;
    service::tell_stopping();
    leave.send_replace(true);
    hub.leave();
    let ended = tokio::time::timeout(END_WITHIN, async { while running.join_next().await.is_some() {} });
    if ended.await.is_err() {
        tracing::info!("some connections did not end in time and are dropped");
    }
    watched.abort();
    bells.abort();
    // Nobody else begins a task of this directory before this one has stopped.
    if let Some(dispatcher) = dispatcher {
        dispatcher.abort();
    }
    drop(post);
    Ok(())
}

/// All sockets, and where the local one is.
fn sockets(options: &mut Options, home: &Path) -> Result<(Vec<Socket>, Option<PathBuf>), ServeError> {
    let mut sockets = Vec::new();
    let handed_down = std::mem::take(&mut options.handed_down);
    let mut local = None;
    for socket in handed_down.tcp {
        sockets.push(listen::inherited_tcp(socket, options.wider.as_ref())?);
    }
    for socket in handed_down.local {
        // The first one takes the place of the home's own.
        let lock = if options.local && local.is_none() { Some(listen::lock(home)?) } else { None };
        let (socket, path) = listen::inherited_local(socket, lock)?;
        sockets.push(socket);
        local.get_or_insert(path);
    }
    if options.local && local.is_none() {
        sockets.push(listen::local(home)?);
        local = Some(listen::socket_path(home));
    }
    for address in &options.listen {
        sockets.push(listen::tcp(*address, options.wider.as_ref())?);
    }
    Ok((sockets, local))
}

/// Takes the post of a bridge's directory, then its socket: so whoever is second is told by whom it is served, and not that
/// a port is taken.
fn take_post(
    bridge: &BridgeOptions,
    options: &Options,
    home: &std::path::Path,
    sockets: &mut Vec<Socket>,
) -> Result<(Lock, SocketAddr), ServeError> {
    if bridge.home_mode && options.wider.is_some() {
        return Err(ServeError::Open);
    }
    let mut holder = Holder {
        pid: std::process::id(),
        cwd: bridge.cwd.clone(),
        address: bridge.listen,
        home_mode: bridge.home_mode,
        max_concurrent: bridge.max_concurrent,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let post = BridgePost::of(home, &bridge.cwd);
    let lock = post.take(&holder)?;
    let socket = listen::tcp(bridge.listen, options.wider.as_ref())?;
    holder.address = address(&socket).unwrap_or(bridge.listen);
    BridgePost::note(&lock, &holder)?;
    sockets.push(socket);
    Ok((lock, holder.address))
}

/// Starts the webhook's thread, which ends when what is given back is dropped.
fn webhook(
    app: &App,
    options: &mut Options,
    home: &Path,
    told: &Ready,
) -> Result<Option<mpsc::Sender<()>>, ServeError> {
    let Some(webhook) = options.webhook.take() else { return Ok(None) };
    let proxy = options.wider.as_ref().and_then(|wider| wider.hosts.first());
    let base = match proxy {
        Some(host) => Some(format!("https://{host}")),
        None => told.addresses.first().map(|address| format!("http://{address}")),
    };
    let webhook = Webhook::new(app.clone(), home.to_owned(), webhook, base)?;
    let (keep, end) = mpsc::channel();
    let thread = std::thread::Builder::new().name("webhook".to_owned());
    thread.spawn(move || webhook.run(&end)).map_err(WebhookError::Thread)?;
    Ok(Some(keep))
}

fn address(socket: &Socket) -> Option<SocketAddr> {
    match socket {
        Socket::Tcp(_, address) => Some(*address),
        Socket::Local(..) => None,
    }
}

/// Resolves when the process is asked to end, by a signal or from the terminal.
///
/// # Errors
/// The signals can't be waited for.
pub fn ended() -> std::io::Result<impl Future<Output = ()>> {
    let signals = Signals::install(&[Signal::Interrupt, Signal::Terminate, Signal::Hangup])?;
    let (told, asked) = oneshot::channel();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut poller = Poller::new();
        poller.add(signals.source(), Interest::Read);
        // Without signals nobody can ask; then only death ends it.
        if poller.wait(None).is_ok() {
            let _ = told.send(());
        }
    })?;
    Ok(async move {
        if asked.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
