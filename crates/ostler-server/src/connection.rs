//! Accepting, and what one connection may cost.
//!
//! A client that sends its head slowly, or none, is dropped; so is one too many. A client that reads slowly costs its
//! connection and nothing else: what it is sent is read from files as it takes it.

use crate::limits::Limits;
use crate::listen::Socket;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ostler_controller::client::Decider;
use ostler_os::ipc::Peer;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// How long to wait before accepting again when the system has no more to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Who is at the other end of a request's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Somebody on TCP, and the address that they reached.
    Tcp {
        /// Where they come from.
        from: SocketAddr,
        /// Where we listen.
        to: SocketAddr,
    },
    /// A process of this machine, known by the system.
    Local(Peer),
}

impl Client {
    /// Who decides when this one does. What a token opens is not given to children; whom the system does not know is as far
    /// away.
    pub(crate) fn decider(self) -> Decider {
        match self {
            Self::Local(Peer { pid: Some(pid), .. }) => Decider::Process(pid),
            Self::Local(_) | Self::Tcp { .. } => Decider::Remote,
        }
    }
}

/// Accepts connections on one socket until `leaving`, then waits for those under way.
pub(crate) async fn accept(
    socket: Socket,
    router: Router,
    limits: Limits,
    places: Arc<Semaphore>,
    mut leaving: watch::Receiver<bool>,
) {
    let mut open = JoinSet::new();
    loop {
        let place = tokio::select! {
            () = left(&mut leaving) => break,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            () = left(&mut leaving) => break,
            accepted = next(&socket) => accepted,
        };
        let (stream, client) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause(&error).await;
                continue;
            }
        };
        let (router, leaving) = (router.clone(), leaving.clone());
        open.spawn(async move {
            let _place = place;
            serve(stream, client, router, &limits, leaving).await;
        });
        while open.try_join_next().is_some() {}
    }
    drop(socket);
    while open.join_next().await.is_some() {}
}

/// Until the server is to leave, or nobody is left who could say so.
async fn left(leaving: &mut watch::Receiver<bool>) {
    let _ = leaving.wait_for(|leaving| *leaving).await;
}

/// What is read and written; a box, so that TCP and local sockets are one.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

async fn next(socket: &Socket) -> io::Result<(Box<dyn Duplex>, Client)> {
    match socket {
        Socket::Tcp(listener, to) => {
            let (stream, from) = listener.accept().await?;
            // An event is worth more now than together with the next one.
            stream.set_nodelay(true)?;
            Ok((Box::new(stream), Client::Tcp { from, to: *to }))
        }
        Socket::Local(listener, _) => {
            let (stream, peer) = listener.accept().await?;
            Ok((Box::new(stream), Client::Local(peer)))
        }
    }
}

/// A client that gave up at once is no reason to wait; a lack of descriptors is.
async fn pause(error: &io::Error) {
    let gone = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !gone {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(EXHAUSTED).await;
    }
}

async fn serve(
    stream: Box<dyn Duplex>,
    client: Client,
    router: Router,
    limits: &Limits,
    mut leaving: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(client);
        router.clone().oneshot(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_within)
        .max_buf_size(limits.head)
        .max_headers(limits.headers)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = left(&mut leaving) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
