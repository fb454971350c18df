//! The port that belongs to a working directory.

use md5::{Digest, Md5};

/// The first port.
const FIRST: u16 = 9200;
/// How many there are.
const COUNT: u16 = 600;

/// 9200 and the first two bytes of the directory's MD5, big end first, modulo 600. The directory is taken as it is
/// spelled. Two directories may share a port.
#[must_use]
pub fn port_of(cwd: &str) -> u16 {
    let digest = Md5::digest(cwd.as_bytes());
    FIRST + u16::from_be_bytes([digest[0], digest[1]]) % COUNT
}

#[cfg(test)]
mod tests {
    use super::port_of;

    #[test]
    fn the_ports_that_clients_compute() {
        let known = [
            (concat!("/home", "/user/project"), 9578),
            ("D:/xu_git/hermes-claude-bridge", 9330),
            ("", 9501),
            ("/", 9614),
            ("/srv/app", 9455),
        ];
        for (cwd, port) in known {
            assert_eq!(port_of(cwd), port, "{cwd:?}");
        }
    }
}
