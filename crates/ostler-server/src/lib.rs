//! HTTP, SSE and the bridge contract: a face over the same store, journals and controllers as the command line.
//!
//! # Theory of operation
//!
//! The server owns nothing. What it accepts is a row in the store before it answers; what it streams is read from the
//! journal files; sessions live in processes of their own. So it may be killed at any instant, and a client goes on where it
//! was, at this server or the next.
//!
//! One connection is one task ([`connection`](self)). A request passes, in this order, the guard (who may ask, from where),
//! the limits (size, time), and its route. Whatever touches the store runs on a thread of the desk, which has one open
//! [`Ostler`](ostler_controller::client::Ostler) for each; the async tasks never wait for a disk.
//!
//! | module | subject |
//! | --- | --- |
//! | `serve` | from options to a running server, and its end |
//! | `listen` | sockets: TCP, local, handed down; who may listen wider than loopback |
//! | `connection` | accepting, limits of a connection, what a request knows of its peer |
//! | `guard` | Host, Origin, content type, token |
//! | `desk` | running what blocks |
//! | `launch` | what the program around us does for a new session: finding claude, making a launch spec |
//! | `extract` | what a request says: bodies, paths, queries, headers |
//! | `log`, `observe`, `metrics` | what is told of requests and of the store: lines, counts |
//! | `service` | sockets that a service manager hands down, and what it is told |
//! | `limits` | what one client may cost |
//! | `dto` | what the API takes and gives |
//! | `found` | what a name in a path means |
//! | `say`, `start` | accepting a message, starting a session |
//! | `sweep` | sessions that nobody works on |
//! | `webhook` | somebody outside is told of questions |
//! | `reply` | answers that are more than a body |
//! | `events` | streams: what sessions say, what changes |
//! | `problem` | errors as RFC 9457 says |
//! | `routes` | one file a subject of the API |
//! | `bridge` | the bridge contract |

mod app;
mod bridge;
mod connection;
mod desk;
mod dto;
mod events;
mod extract;
mod found;
mod guard;
pub mod launch;
mod limits;
mod listen;
mod log;
mod metrics;
mod observe;
mod problem;
mod reply;
mod routes;
mod say;
mod serve;
mod service;
mod start;
mod sweep;
mod token;
mod webhook;

pub use bridge::{
    BridgeKey, BridgeOptions, BridgePost, Holder, KeyError, MAX_CONCURRENT, PostError, is_home_mode, port_of,
};
pub use limits::Limits;
pub use listen::{ListenError, Wider};
pub use log::{LogFormat, LogLevel, Logging, log_to};
pub use problem::Problem;
pub use routes::description;
pub use serve::{Options, Ready, ReadyBridge, ServeError, ended, serve};
pub use service::HandedDown;
pub use token::{Token, TokenError};
pub use webhook::{Secret, WebhookError, WebhookOptions};
