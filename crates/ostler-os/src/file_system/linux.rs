//! statfs(2) and the mount table.

use super::{FUSE, FileSystem};
use rustix::fs::{major, minor};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(super) fn file_system(path: &Path) -> io::Result<FileSystem> {
    // On some machines the field is signed and narrower, which fills the upper half of a number like CIFS's.
    let magic = (rustix::fs::statfs(path)?.f_type as u64) & 0xffff_ffff;
    let kind = if magic == FUSE { kind_of_mount(fs::metadata(path)?.dev())? } else { None };
    Ok(FileSystem { magic, kind })
}

/// The type that the mount table (proc_pid_mountinfo(5)) has for a device.
fn kind_of_mount(device: u64) -> io::Result<Option<String>> {
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(find_kind(&String::from_utf8_lossy(&table), &format!("{}:{}", major(device), minor(device))))
}

fn find_kind(table: &str, device: &str) -> Option<String> {
    let line = table.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    let (_, after) = line.split_once(" - ")?;
    after.split(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_stands_behind_the_optional_fields() {
        let table = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
                     61 22 0:52 / /mnt/far rw,nosuid shared:9 master:2 - fuse.sshfs host:/ rw,user_id=0\n";
        assert_eq!(find_kind(table, "0:52").as_deref(), Some("fuse.sshfs"));
        assert_eq!(find_kind(table, "0:53"), None);
    }
}
