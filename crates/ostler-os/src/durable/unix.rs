//! Modes, owners, statvfs(3).

use rustix::fs::StatVfs;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

pub(super) fn private(options: &mut OpenOptions) {
    options.mode(0o600);
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn create_dir_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn protect(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 == 0 { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(mode & 0o700)) }
}

pub(super) fn free_space(path: &Path) -> io::Result<u64> {
    Ok(free_for_me(&rustix::fs::statvfs(path)?))
}

pub(super) fn free_space_of(file: &File) -> io::Result<u64> {
    Ok(free_for_me(&rustix::fs::fstatvfs(file)?))
}

fn free_for_me(stat: &StatVfs) -> u64 {
    if stat.f_blocks == 0 {
        // It doesn't count: memory without a limit (ramfs, tmpfs with `size=0`).
        return u64::MAX;
    }
    // Some blocks are kept for root.
    let blocks = if crate::limits::is_root() { stat.f_bfree } else { stat.f_bavail };
    blocks.saturating_mul(stat.f_frsize)
}

pub(super) fn owner_is_me(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.uid() == crate::me::uid())
}

pub(super) fn same_file(file: &File, path: &Path) -> io::Result<bool> {
    Ok(file_id(&file.metadata()?) == file_id(&fs::metadata(path)?))
}

pub(super) fn file_id(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
