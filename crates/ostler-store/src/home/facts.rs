//! What a folder is like, and whether a home can be there.

use super::HomeError;
use ostler_os::durable;
use std::io;
use std::path::Path;

/// What was found out about the place of a home.
#[derive(Debug)]
pub(super) struct Facts {
    /// It is a folder.
    pub(super) folder: bool,
    /// The network file system that it is on.
    pub(super) network: Option<String>,
    /// It belongs to this user.
    pub(super) mine: bool,
    /// What creating the folders in it gave.
    pub(super) writable: io::Result<()>,
}

impl Facts {
    /// Looks at `root`, which exists. `writable` comes from whoever tried to write there.
    pub(super) fn of(root: &Path, writable: io::Result<()>) -> Result<Self, HomeError> {
        let fail = |source: io::Error| HomeError::Io { operation: "look at", path: root.to_owned(), source };
        // What a link leads to counts, not the link.
        let real = root.canonicalize().map_err(fail)?;
        Ok(Self {
            folder: real.is_dir(),
            network: network(&real)?,
            mine: durable::owner_is_me(&real).map_err(|e| fail(e.into()))?,
            writable,
        })
    }

    /// The first reason not to have a home at `path`.
    pub(super) fn judge(self, path: &Path) -> Result<(), HomeError> {
        let path = path.to_owned();
        if !self.folder {
            return Err(HomeError::NotAFolder { path });
        }
        if let Some(kind) = self.network {
            return Err(HomeError::NetworkFs { path, kind });
        }
        if !self.mine {
            return Err(HomeError::OtherOwner { path });
        }
        self.writable.map_err(|source| refused(&path, source))
    }
}

/// The network file system that `path`, which exists, is on.
pub(super) fn network(path: &Path) -> Result<Option<String>, HomeError> {
    let found = durable::file_system(path).map_err(|error| HomeError::Io {
        operation: "look at",
        path: path.to_owned(),
        source: error.into(),
    })?;
    Ok(found.network().map(str::to_owned))
}

/// What a failed attempt to create something in `path` means.
pub(super) fn refused(path: &Path, source: io::Error) -> HomeError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            HomeError::NotWritable { path, source }
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => HomeError::DiskFull { path, source },
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => HomeError::NotAFolder { path },
        _ => HomeError::Io { operation: "create", path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Facts {
        Facts { folder: true, network: None, mine: true, writable: Ok(()) }
    }

    fn sentence(facts: Facts) -> String {
        facts.judge(Path::new("/h")).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_local_folder_of_ones_own_is_taken() {
        good().judge(Path::new("/h")).unwrap();
    }

    #[test]
    fn each_reason_has_its_sentence() {
        assert_eq!(
            sentence(Facts { folder: false, ..good() }),
            "/h is not a folder; move it away or set OSTLER_HOME to another place"
        );
        assert_eq!(
            sentence(Facts { network: Some("NFS".into()), ..good() }),
            "/h is on a network file system (NFS), where file locks and the database are not safe; \
             set OSTLER_HOME to a local folder"
        );
        assert_eq!(
            sentence(Facts { mine: false, ..good() }),
            "/h belongs to another user; set OSTLER_HOME to a folder of yours"
        );
        let denied = || Err(io::ErrorKind::PermissionDenied.into());
        assert_eq!(
            sentence(Facts { writable: denied(), ..good() }),
            "cannot write to /h; make it writable for you or set OSTLER_HOME to another folder"
        );
        let read_only = Err(io::ErrorKind::ReadOnlyFilesystem.into());
        let refused = Facts { writable: read_only, ..good() }.judge(Path::new("/h"));
        assert!(matches!(refused, Err(HomeError::NotWritable { .. })), "{refused:?}");
        assert_eq!(
            sentence(Facts { writable: Err(io::ErrorKind::StorageFull.into()), ..good() }),
            "no space left for /h; free some and try again"
        );
    }

    #[test]
    fn the_place_is_judged_before_whether_it_can_be_written() {
        let facts = Facts {
            network: Some("NFS".into()),
            mine: false,
            writable: Err(io::ErrorKind::PermissionDenied.into()),
            ..good()
        };
        assert!(matches!(facts.judge(Path::new("/h")), Err(HomeError::NetworkFs { .. })));
    }
}
