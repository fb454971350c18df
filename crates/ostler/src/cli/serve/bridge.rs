//! The bridge's options, for `ostler serve --bridge` and `ostler bridge enable` alike.

use crate::failure::{Failure, Kind, UsageError};
use clap::Args;
use ostler_server::launch::NewSpec;
use ostler_server::{BridgeKey, BridgeOptions, MAX_CONCURRENT, is_home_mode, port_of};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Tasks at once unless told otherwise.
const USUAL: u32 = 3;

/// Options of the bridge.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of the bridge")]
pub(in crate::cli) struct BridgeArgs {
    /// The bridge's port on loopback [default: the one that its clients compute from the directory]
    #[arg(long, value_name = "PORT")]
    bridge_port: Option<u16>,
    /// How many tasks run at once; the others wait in the order in which they came
    #[arg(long, value_name = "N", default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONCURRENT)))]
    max_concurrent: u32,
    /// A directory in which, and below which, tasks may work besides the bridge's own; may be given several times
    #[arg(long, value_name = "DIR")]
    allow_dir: Vec<PathBuf>,
    /// What a task's session is started with: a JSON file, or JSON, as `spec` of `POST /v1/sessions`
    #[arg(long, value_name = "FILE")]
    task_spec: Option<String>,
}

impl BridgeArgs {
    /// The bridge of a directory.
    pub(in crate::cli) fn options(&self, cwd: &str) -> Result<BridgeOptions, Failure> {
        let port = self.bridge_port.unwrap_or_else(|| port_of(cwd));
        Ok(BridgeOptions {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            cwd: cwd.to_owned(),
            key: key()?,
            home_mode: std::env::var("H2C_HOME").is_ok_and(|value| is_home_mode(&value)),
            max_concurrent: self.max_concurrent,
            allow: self.allow_dir.iter().map(|dir| real(dir)).collect::<Result<_, _>>()?,
            spec: self.spec()?,
        })
    }

    fn spec(&self) -> Result<NewSpec, Failure> {
        let Some(value) = &self.task_spec else { return Ok(NewSpec::default()) };
        let text = match value.trim_start().starts_with('{') {
            true => value.clone(),
            false => {
                let path = PathBuf::from(value);
                std::fs::read_to_string(&path).map_err(|source| UsageError::File { path, source })?
            }
        };
        let spec = serde_json::from_str(&text);
        Ok(spec.map_err(|source| UsageError::NotJson { option: "--task-spec", source })?)
    }

    /// The same options for another process, which has another working directory. They must have been found good.
    pub(in crate::cli) fn words(&self) -> Result<Vec<OsString>, Failure> {
        let mut words: Vec<OsString> = vec![format!("--max-concurrent={}", self.max_concurrent).into()];
        words.extend(self.bridge_port.map(|port| format!("--bridge-port={port}").into()));
        for dir in &self.allow_dir {
            let mut word = OsString::from("--allow-dir=");
            word.push(real(dir)?);
            words.push(word);
        }
        if let Some(value) = &self.task_spec {
            let mut word = OsString::from("--task-spec=");
            match value.trim_start().starts_with('{') {
                true => word.push(value),
                false => word.push(real(Path::new(value))?),
            }
            words.push(word);
        }
        Ok(words)
    }
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    Ok(path.canonicalize().map_err(|source| UsageError::File { path: path.to_owned(), source })?)
}

/// The key of this user.
pub(in crate::cli) fn key() -> Result<BridgeKey, Failure> {
    let Some(user) = std::env::var_os("HOME").filter(|home| !home.is_empty()) else {
        return Err(UsageError::NoUserFolder.into());
    };
    BridgeKey::of_user(Path::new(&user)).map_err(|e| Failure::new(Kind::Store, e))
}

/// The working directory as its clients spell it.
pub(in crate::cli) fn here() -> Result<String, Failure> {
    let cwd = std::env::current_dir().map_err(|source| UsageError::Cwd { path: ".".into(), source })?;
    Ok(cwd.into_os_string().into_string().map_err(|s| UsageError::PathNotUtf8 { path: s.into() })?)
}
