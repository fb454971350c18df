//! One message to the receiver, signed as Standard Webhooks says.

use axum::http::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use ostler_core::ids::Millis;
use sha2::Sha256;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::{Agent, Proxy};
use uuid::Uuid;

/// What a secret of Standard Webhooks begins with; the rest is Base64.
const PREFIX: &str = "whsec_";
/// The shortest secret, in bytes.
const SHORTEST: usize = 24;
/// The largest head of an answer, in bytes. Its body is not read.
const HEAD: usize = 16 << 10;

/// What messages are signed with. Can't be printed.
#[derive(Clone)]
pub struct Secret {
    key: Vec<u8>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// The secret in a file: `whsec_` and Base64, or any text of at least 24 bytes; white space around it doesn't count.
    ///
    /// # Errors
    /// The file can't be read, or holds no such thing.
    pub fn of_file(path: &Path) -> Result<Self, WebhookError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| WebhookError::Read { path: path.to_owned(), source })?;
        Self::of(text.trim()).ok_or_else(|| WebhookError::Short { path: path.to_owned() })
    }

    fn of(text: &str) -> Option<Self> {
        let key = match text.strip_prefix(PREFIX) {
            Some(encoded) => STANDARD.decode(encoded).ok()?,
            None => text.as_bytes().to_vec(),
        };
        (key.len() >= SHORTEST).then_some(Self { key })
    }

    /// `v1,` and the Base64 of the HMAC-SHA256 of `id.seconds.body`.
    fn sign(&self, id: Uuid, seconds: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Why there can be no webhook.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The secret's file can't be read.
    #[error("cannot read the webhook's secret in {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The secret's file holds none.
    #[error("{} holds no secret: `whsec_` and Base64 of 24 bytes, or any 24 bytes", path.display())]
    Short {
        /// The file.
        path: PathBuf,
    },
    /// What is told could be read, or sent, by others.
    #[error("the webhook's URL must begin with https://, or lead to loopback")]
    Url,
    /// The thread can't be started.
    #[error("cannot start the webhook's thread")]
    Thread(#[source] io::Error),
}

/// Sends.
pub(super) struct Sender {
    agent: Agent,
    url: String,
    secret: Secret,
}

impl Sender {
    pub(super) fn new(url: String, secret: Secret, within: Duration) -> Result<Self, WebhookError> {
        let tls = is_tls(&url)?;
        let agent = Agent::config_builder()
            .timeout_global(Some(within))
            // Whoever answers with another place would get what was meant for this one.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_response_header_size(HEAD)
            .proxy(if tls { Proxy::try_from_env() } else { None })
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        Ok(Self { agent, url, secret })
    }

    /// Sends one, and waits for the answer's head. What went wrong is for people, and says nothing of what was sent.
    pub(super) fn send(&self, id: Uuid, now: Millis, body: &[u8]) -> Result<(), String> {
        let seconds = now.0.div_euclid(1000);
        let answer = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", id.to_string())
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", self.secret.sign(id, seconds, body))
            .send(body);
        match answer {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(format!("answered {}", answer.status().as_u16())),
            Err(error) => Err(crate::problem::chain(&error)),
        }
    }
}

/// Whether the URL is for TLS. Without it, only to this machine.
fn is_tls(url: &str) -> Result<bool, WebhookError> {
    let uri: Uri = url.parse().map_err(|_| WebhookError::Url)?;
    let host = uri.host().unwrap_or_default();
    let address: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
    let loopback = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(true),
        Some("http") if loopback => Ok(false),
        _ => Err(WebhookError::Url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::Arc;

    #[test]
    fn it_signs_as_standard_webhooks_does() {
        // The example of the specification's own libraries.
        let secret = Secret::of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.key).unwrap();
        mac.update(b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}");
        let known = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(STANDARD.encode(mac.finalize().into_bytes()), known);
        let signed = Secret::of("0123456789abcdef01234567").unwrap().sign(Uuid::nil(), 7, b"{}");
        let mut mac = Hmac::<Sha256>::new_from_slice(b"0123456789abcdef01234567").unwrap();
        mac.update(b"00000000-0000-0000-0000-000000000000.7.{}");
        assert_eq!(signed, format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())));
    }

    #[test]
    fn a_secret_is_long_and_not_printed() {
        assert!(Secret::of("0123456789abcdef0123456").is_none());
        assert!(Secret::of("whsec_MfKQ").is_none() && Secret::of("whsec_!").is_none());
        let secret = Secret::of("0123456789abcdef01234567").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }

    #[test]
    fn what_is_told_goes_to_nobody_in_clear_but_to_this_machine() {
        for url in ["https://example.com/hook?x=1", "https://127.0.0.1:1/"] {
            assert!(is_tls(url).unwrap(), "{url}");
        }
        for url in ["http://127.0.0.1:1/a", "http://localhost/", "http://[::1]:80/"] {
            assert!(!is_tls(url).unwrap(), "{url}");
        }
        for url in
            ["http://example.com/", "ftp://localhost/", "localhost", "", "http://127.0.0.1.example.com/"]
        {
            assert!(is_tls(url).is_err(), "{url}");
        }
    }

    /// A receiver whose certificate nobody has signed; what becomes of the first connection.
    fn untrusted() -> (String, std::thread::JoinHandle<io::Result<()>>) {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        const CERTIFICATE: &[u8] = include_bytes!("untrusted.pem");
        let key = PrivateKeyDer::from_pem_slice(CERTIFICATE).unwrap();
        let certificates = CertificateDer::pem_slice_iter(CERTIFICATE).map(Result::unwrap).collect();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(certificates, key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            let mut tls = rustls::ServerConnection::new(config).unwrap();
            while tls.is_handshaking() {
                tls.complete_io(&mut stream)?;
            }
            // Only a client that trusts us says anything.
            tls.complete_io(&mut stream).map(drop)
        });
        (url, thread)
    }

    #[test]
    fn a_certificate_that_nobody_has_signed_is_refused_and_nothing_is_told() {
        let (url, receiver) = untrusted();
        let secret = Secret::of("0123456789abcdef01234567").unwrap();
        let sender = Sender::new(url, secret, Duration::from_secs(20)).unwrap();
        let why = sender.send(Uuid::nil(), Millis(0), b"{}").unwrap_err();
        assert!(why.contains("invalid peer certificate"), "{why}");
        receiver.join().unwrap().unwrap_err();
    }
}
