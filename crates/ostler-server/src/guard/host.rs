//! `Host` and `Origin`.

use crate::connection::Client;
use crate::problem::Problem;
use axum::http::{HeaderMap, StatusCode, header};

/// Names of this machine itself.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The request must have been sent to a name that means us: a loopback name with our port, or one of the proxy's.
pub(super) fn check_host(client: Client, headers: &HeaderMap, names: &[String]) -> Result<(), Problem> {
    // No browser speaks to a local socket, and its clients call it whatever they like.
    let Client::Tcp { to, .. } = client else { return Ok(()) };
    let mut all = headers.get_all(header::HOST).iter();
    let host = match (all.next().and_then(|value| value.to_str().ok()), all.next()) {
        (Some(host), None) => host.to_ascii_lowercase(),
        _ => return Err(refused("one `Host` header is needed")),
    };
    let (name, port) = split_port(&host);
    let ours = LOOPBACK.contains(&name) && port.is_none_or(|port| port == to.port().to_string());
    if ours || names.iter().any(|known| *known == host || *known == name) {
        return Ok(());
    }
    Err(refused(format!("`Host: {host}` is no name of this server")))
}

/// A page may only ask where it came from: from ourselves, under the name that it was loaded by.
pub(super) fn check_origin(headers: &HeaderMap, names: &[String]) -> Result<(), Problem> {
    let mut all = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = all.next() else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let host = host.to_ascii_lowercase();
    let same = origin == format!("http://{host}");
    // In front of us there may be TLS, and only there.
    let proxied = names.iter().any(|name| origin == format!("https://{name}"));
    if all.next().is_none() && !host.is_empty() && (same || proxied) {
        return Ok(());
    }
    Err(refused(format!("a page of `{origin}` may not ask this server")))
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "foreign", "Not from here", detail)
}

/// `name:port`, `[::1]:port`, or without a port.
fn split_port(host: &str) -> (&str, Option<&str>) {
    let after_name = host.find(']').map_or(0, |at| at + 1);
    match host[after_name..].find(':') {
        Some(at) => (&host[..after_name + at], Some(&host[after_name + at + 1..])),
        None => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (header::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut map = HeaderMap::new();
        for (name, value) in all.iter().map(pair) {
            map.append(name, value);
        }
        map
    }

    fn host_is_taken(host: &[(&'static str, &'static str)], names: &[&str]) -> bool {
        let client = Client::Tcp { from: ([127, 0, 0, 1], 5).into(), to: ([127, 0, 0, 1], 7000).into() };
        let names: Vec<_> = names.iter().map(|&n| n.to_owned()).collect();
        check_host(client, &headers(host), &names).is_ok()
    }

    #[test]
    fn only_our_own_names_are_taken() {
        for good in ["127.0.0.1:7000", "localhost:7000", "LOCALHOST:7000", "[::1]:7000", "localhost"] {
            assert!(host_is_taken(&[("host", good)], &[]), "{good}");
        }
        for bad in [
            "evil.example:7000",
            "localhost:7001",
            "127.0.0.1.evil.example",
            "localhost.:7000",
            "",
            "127.0.0.2:7000",
            "[::1",
        ] {
            assert!(!host_is_taken(&[("host", bad)], &[]), "{bad}");
        }
        assert!(!host_is_taken(&[], &[]));
        assert!(!host_is_taken(&[("host", "localhost:7000"), ("host", "localhost:7000")], &[]));
        assert!(host_is_taken(&[("host", "agents.example")], &["agents.example"]));
    }

    fn origin_is_taken(all: &[(&'static str, &'static str)]) -> bool {
        check_origin(&headers(all), &["agents.example".to_owned()]).is_ok()
    }

    #[test]
    fn a_page_of_somebody_else_is_refused() {
        assert!(origin_is_taken(&[("host", "localhost:7000")]));
        assert!(origin_is_taken(&[("host", "localhost:7000"), ("origin", "http://localhost:7000")]));
        assert!(origin_is_taken(&[("host", "agents.example"), ("origin", "https://agents.example")]));
        for bad in
            ["null", "http://127.0.0.1:7000", "http://localhost:7001", "https://evil.example", "", "http://"]
        {
            assert!(!origin_is_taken(&[("host", "localhost:7000"), ("origin", bad)]), "{bad}");
        }
        assert!(!origin_is_taken(&[("origin", "http://")]));
    }
}
