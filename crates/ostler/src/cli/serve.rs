//! `ostler serve`.

mod launch;

use super::face::{Face, now};
use crate::exit::Exit;
use crate::failure::{Failure, Kind};
use crate::json::ServeDocument;
use clap::Args;
use launch::Program;
use ostler_server::{Limits, Options, Ready, Wider};
use std::net::SocketAddr;

/// Where it listens unless told otherwise.
const USUAL: &str = "127.0.0.1:7867";

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
    /// TCP address to listen on; may be given several times. Port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = USUAL)]
    listen: Vec<SocketAddr>,
    /// Listen on the local socket of the home alone
    #[arg(long, conflicts_with = "listen")]
    no_tcp: bool,
    /// A proxy stands in front of it, does TLS, and is called by this name; only so may it listen on more than loopback
    #[arg(long, value_name = "NAME")]
    behind_proxy: Vec<String>,
}

pub(super) fn serve(args: &ServeArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let options = Options {
        listen: if args.no_tcp { Vec::new() } else { args.listen.clone() },
        local: true,
        wider: (!args.behind_proxy.is_empty()).then(|| Wider { hosts: args.behind_proxy.clone() }),
        owner: ostler_os::me::uid(),
        now,
        limits: Limits::default(),
    };
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

/// Where it can be reached; nobody is left to be told when that fails.
fn tell(face: &Face, ready: &Ready) {
    if face.json {
        let _ = face.document(&ServeDocument::of(ready));
        return;
    }
    for address in &ready.addresses {
        let _ = face.print(&format!("http://{address}\n"));
    }
    if let Some(socket) = &ready.socket {
        let _ = face.print(&format!("{}\n", socket.display()));
    }
    if !face.quiet {
        face.remark(&format!("the token for TCP stands in {}", ready.token_file.display()));
    }
}
