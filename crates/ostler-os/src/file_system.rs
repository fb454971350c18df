//! Which file system is that, and can it be trusted with locks?

#[cfg_attr(target_os = "linux", path = "file_system/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "file_system/unsupported.rs")]
mod platform;

use crate::PathError;
use std::path::Path;

/// What a path lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// The magic number of statfs(2).
    pub magic: u64,
    /// The type in the mount table (`ext4`, `fuse.sshfs`, …) for what is served by a program (FUSE), where found.
    pub kind: Option<String>,
}

/// Magic numbers of network file systems, as `linux/magic.h` and statfs(2) list them.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x564c, "NCP"),
    // Also what WSL shows Windows drives through.
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "kAFS"),
    (0x7375_7245, "Coda"),
    // Not in the kernel tree; numbers from their own sources, as GNU stat knows them.
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0xaad7_aaea, "PanFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
];

/// `FUSE_SUPER_MAGIC`: says nothing about where the bytes are.
const FUSE: u64 = 0x6573_5546;

/// Types under FUSE whose bytes are on another machine.
const NETWORK_FUSE: &[&str] = &[
    "sshfs",
    "rclone",
    "s3fs",
    "mount-s3",
    "goofys",
    "gcsfuse",
    "blobfuse",
    "blobfuse2",
    "glusterfs",
    "ceph-fuse",
    "juicefs",
    "davfs",
    "davfs2",
    "curlftpfs",
    "gvfsd-fuse",
    "smbnetfs",
    "google-drive-ocamlfuse",
    "onedriver",
    "seaweedfs",
    "moosefs",
    "mfs",
    "lizardfs",
    "cvmfs",
    "nfs",
];

impl FileSystem {
    /// The name of the network file system, `None` for a local one.
    #[must_use]
    pub fn network(&self) -> Option<&'static str> {
        if self.magic != FUSE {
            return NETWORK.iter().find(|(magic, _)| *magic == self.magic).map(|(_, name)| *name);
        }
        let kind = self.kind.as_deref()?.strip_prefix("fuse.")?;
        NETWORK_FUSE.iter().find(|name| **name == kind).copied()
    }
}

/// What `path` lies on.
///
/// # Errors
/// When the path doesn't exist.
pub fn file_system(path: &Path) -> Result<FileSystem, PathError> {
    platform::file_system(path).map_err(|source| PathError::new("find the file system of", path, source))
}

/// True when `path` lies on a network file system, where locks, SQLite and durable writes are not to be trusted.
///
/// # Errors
/// When the path doesn't exist.
pub fn is_network_fs(path: &Path) -> Result<bool, PathError> {
    Ok(file_system(path)?.network().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(magic: u64, kind: Option<&str>) -> Option<&'static str> {
        FileSystem { magic, kind: kind.map(str::to_owned) }.network()
    }

    #[test]
    fn network_file_systems_are_known_by_number() {
        assert_eq!(network(0x6969, None), Some("NFS"));
        assert_eq!(network(0xff53_4d42, None), Some("CIFS"));
        assert_eq!(network(0x0102_1997, None), Some("9P"));
    }

    #[test]
    fn under_fuse_the_type_decides() {
        assert_eq!(network(FUSE, Some("fuse.sshfs")), Some("sshfs"));
        assert_eq!(network(FUSE, Some("fuse.gocryptfs")), None);
        assert_eq!(network(FUSE, Some("fuseblk")), None);
        assert_eq!(network(FUSE, None), None);
    }

    #[test]
    fn local_file_systems_pass() {
        // ext4, tmpfs, btrfs, xfs, zfs, overlayfs.
        for magic in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x2fc1_2fc1, 0x794c_7630] {
            assert_eq!(network(magic, None), None, "{magic:#x}");
        }
    }
}
