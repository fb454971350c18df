//! From options to a running server, and its end.

use crate::app::App;
use crate::connection;
use crate::desk::Desk;
use crate::guard::Guard;
use crate::launch::Launch;
use crate::limits::Limits;
use crate::listen::{self, ListenError, Socket, Wider};
use crate::routes;
use crate::sweep::sweep;
use crate::token::{Token, TokenError};
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::Millis;
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::signals::{Signal, Signals};
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;

/// How long connections may take to come to an end.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What a server is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// TCP addresses; a port 0 is any that is free.
    pub listen: Vec<SocketAddr>,
    /// Listen on the home's local socket too. Only one server of a home can.
    pub local: bool,
    /// Somebody stands in front, so that it may listen on more than loopback.
    pub wider: Option<Wider>,
    /// The user whose home it is.
    pub owner: u32,
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
    options: Options,
    launch: Box<dyn Launch>,
    ready: impl FnOnce(Ready),
    end: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let home = ostler.home().root().to_owned();
    let token = Token::of_home(&home)?;
    let sockets = sockets(&options, &home)?;
    let told = Ready {
        addresses: sockets.iter().filter_map(address).collect(),
        socket: options.local.then(|| listen::socket_path(&home)),
        token_file: home.join("token"),
    };
    let (leave, leaving) = watch::channel(false);
    let app = App::new(Desk::new(ostler), launch, options.now, leaving.clone(), options.limits);
    let guard = Arc::new(Guard::new(token, options.owner, options.wider.as_ref()));
    let router = routes::all(app.clone(), guard);
    let places = Arc::new(Semaphore::new(options.limits.connections));
    let mut running = JoinSet::new();
    for socket in sockets {
        let (router, places, leaving) = (router.clone(), Arc::clone(&places), leaving.clone());
        running.spawn(connection::accept(socket, router, options.limits, places, leaving));
    }
    drop(router);
    running.spawn(sweep(app));
    ready(told);
    end.await;
    leave.send_replace(true);
    let ended = tokio::time::timeout(END_WITHIN, async { while running.join_next().await.is_some() {} });
    if ended.await.is_err() {
        tracing::info!("some connections did not end in time and are dropped");
    }
    Ok(())
}

fn sockets(options: &Options, home: &std::path::Path) -> Result<Vec<Socket>, ServeError> {
    let mut sockets = Vec::new();
    if options.local {
        sockets.push(listen::local(home)?);
    }
    for address in &options.listen {
        sockets.push(listen::tcp(*address, options.wider.as_ref())?);
    }
    if sockets.is_empty() { Err(ServeError::Nowhere) } else { Ok(sockets) }
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
