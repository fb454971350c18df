//! The packages that ostler installs: which, and what their bytes must hash to. The data is in `pins.json`; a new
//! version is a change of that file and of nothing else.

use super::LauncherError;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One npm package with one native executable in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Its name: `@anthropic-ai/claude-code-linux-x64`.
    pub name: String,
    /// Its version. Filled from the top of the file.
    #[serde(skip)]
    pub version: &'static str,
    /// What `npm view … dist.integrity` says: `sha512-…`.
    pub integrity: String,
    /// The name of the executable in it.
    pub executable: String,
    /// Bytes when unpacked, where somebody has measured them.
    pub unpacked: Option<u64>,
    os: String,
    arch: String,
    musl: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    version: String,
    packages: Vec<Pin>,
}

static PINS: LazyLock<Vec<Pin>> = LazyLock::new(|| {
    let text = include_str!("pins.json");
    let pins: Pins = serde_json::from_str(text).expect("pins.json is checked by a test");
    let version: &'static str = pins.version.leak();
    pins.packages.into_iter().map(|p| Pin { version, ..p }).collect()
});

/// The package for a system, by the names of `std::env::consts`.
///
/// # Errors
/// [`LauncherError::NoPackage`].
pub fn pin(os: &str, arch: &str, musl: bool) -> Result<&'static Pin, LauncherError> {
    let fits = |p: &&Pin| p.os == os && p.arch == arch && p.musl == musl;
    PINS.iter()
        .find(fits)
        .ok_or_else(|| LauncherError::NoPackage { os: os.to_owned(), arch: arch.to_owned() })
}

impl Pin {
    /// Name and version, as npm writes them.
    #[must_use]
    pub fn package(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Where the executable lies below an installation's folder.
    #[must_use]
    pub fn executable(&self, home: &Path) -> PathBuf {
        home.join("node_modules").join(&self.name).join(&self.executable)
    }

    /// Writes what npm reads: which package, and which bytes.
    pub(super) fn write_manifest(&self, dir: &Path) -> Result<(), LauncherError> {
        let wanted = serde_json::json!({ (&self.name): self.version });
        let manifest =
            serde_json::json!({ "name": "ostler-claude", "private": true, "dependencies": wanted });
        let lock = serde_json::json!({
            "name": "ostler-claude",
            "lockfileVersion": 3,
            "requires": true,
            "packages": {
                "": { "name": "ostler-claude", "dependencies": wanted },
                (self.in_lock()): { "version": self.version, "integrity": self.integrity },
            },
        });
        for (name, value) in [("package.json", manifest), ("package-lock.json", lock)] {
            let path = dir.join(name);
            std::fs::write(&path, value.to_string()).map_err(LauncherError::io("write", &path))?;
        }
        Ok(())
    }

    /// Npm keeps the lock file up to date; what it says afterwards must be what we wrote. An npm that took it for
    /// its own to change, or that ignored it, is found here.
    pub(super) fn check_manifest(&self, dir: &Path) -> Result<(), LauncherError> {
        let path = dir.join("package-lock.json");
        let bytes = std::fs::read(&path).map_err(LauncherError::io("read", &path))?;
        let lock: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let package = &lock["packages"][self.in_lock()];
        if package["integrity"] == self.integrity.as_str() && package["version"] == self.version {
            return Ok(());
        }
        Err(LauncherError::Integrity { package: self.package() })
    }

    fn in_lock(&self) -> String {
        format!("node_modules/{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{PINS, pin};
    use crate::launcher::{FLOOR, Version};

    #[test]
    fn every_package_is_pinned_by_a_whole_hash() {
        assert_eq!(PINS.len(), 8);
        for p in PINS.iter() {
            assert!(Version::parse(p.version).unwrap() >= FLOOR);
            let hash = p.integrity.strip_prefix("sha512-").unwrap();
            // 64 bytes in base64.
            assert!(hash.len() == 88 && hash.ends_with("=="), "{}", p.name);
            let same = PINS.iter().filter(|o| o.integrity == p.integrity).count();
            assert_eq!(same, 1, "{}", p.name);
        }
    }

    #[test]
    fn systems_find_theirs() {
        let name = |os, arch, musl| {
            pin(os, arch, musl).unwrap().name.trim_start_matches("@anthropic-ai/claude-code-")
        };
        assert_eq!(name("linux", "x86_64", false), "linux-x64");
        assert_eq!(name("linux", "aarch64", true), "linux-arm64-musl");
        assert_eq!(name("macos", "aarch64", false), "darwin-arm64");
        assert_eq!(name("windows", "x86_64", false), "win32-x64");
        assert!(pin("freebsd", "x86_64", false).is_err());
        assert!(pin("linux", "riscv64", false).is_err());
    }
}
