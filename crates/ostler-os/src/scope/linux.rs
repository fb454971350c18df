//! Control groups (cgroups(7)), versions 1 and 2.

use super::{Caps, Dir, Door, Hierarchies, Met, PREFIX, ScopeError, Version};
use crate::PathError;
use crate::process::is_gone;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Who is in a group; who writes a pid to it (0: its own) moves there.
const PROCS: &str = "cgroup.procs";
/// Which groups this process is in.
const OWN_GROUPS: &str = "/proc/self/cgroup";
/// How deep groups below a scope are looked for.
const DEPTH: usize = 16;

/// A hierarchy, and the directory in it that this process's scopes are made in: its own, or the one above the scope
/// that it is in.
struct Hierarchy {
    version: Version,
    /// Of version 1.
    controllers: Vec<String>,
    base: PathBuf,
    /// This process is in a scope below the base.
    inside: bool,
}

pub(super) fn plan(name: &str, caps: &Caps, which: Hierarchies) -> Result<Vec<Dir>, ScopeError> {
    let all = if which == Hierarchies::Without { Vec::new() } else { hierarchies() };
    let is_two = |h: &&Hierarchy| h.version == Version::Two && which == Hierarchies::Any;
    let two = all.iter().filter(is_two).find(|h| can_hold(&h.base));
    let one = |controller: &str| {
        let has = |h: &&Hierarchy| h.version == Version::One && h.controllers.iter().any(|c| c == controller);
        all.iter().filter(has).find(|h| can_hold(&h.base))
    };
    let dir = |h: &Hierarchy| Dir { version: h.version, path: h.base.join(name) };
    let mut dirs: Vec<Dir> = two.or_else(|| one("pids")).map(dir).into_iter().collect();
    let asked = [
        ("pids", caps.pids.is_some(), "the number of processes"),
        ("memory", caps.memory.is_some(), "memory"),
    ];
    for (controller, wanted, what) in asked {
        if !wanted || two.is_some_and(|h| offers(&h.base, controller)) {
            continue;
        }
        let holder = one(controller).map(dir).ok_or(ScopeError::Cap { what })?;
        if !dirs.contains(&holder) {
            dirs.push(holder);
        }
    }
    Ok(dirs)
}

pub(super) fn make(dirs: &[Dir], caps: &Caps) -> Result<(), ScopeError> {
    for dir in dirs {
        match fs::create_dir(&dir.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(PathError::new("make the control group", &dir.path, error).into());
            }
            _ => {}
        }
    }
    if let Some(pids) = caps.pids {
        limit(dirs, &["pids.max"], &pids.to_string(), "the number of processes")?;
    }
    if let Some(memory) = caps.memory {
        limit(dirs, &["memory.max", "memory.limit_in_bytes"], &memory.to_string(), "memory")?;
        // What is swapped out counts as well, where the kernel keeps account of it.
        let _ = limit(dirs, &["memory.swap.max"], "0", "memory");
        let _ = limit(dirs, &["memory.memsw.limit_in_bytes"], &memory.to_string(), "memory");
    }
    Ok(())
}

/// Sets a limit in the first directory that has it.
fn limit(dirs: &[Dir], names: &[&str], value: &str, what: &'static str) -> Result<(), ScopeError> {
    let files = dirs.iter().flat_map(|dir| names.iter().map(|name| dir.path.join(name)));
    let file = files.into_iter().find(|file| file.exists()).ok_or(ScopeError::Cap { what })?;
    fs::write(&file, value).map_err(|error| PathError::new("set the limit", &file, error).into())
}

pub(super) fn door(dir: &Dir) -> Result<Door, PathError> {
    let open = |path: &Path, options: &OpenOptions| {
        options.open(path).map_err(|error| PathError::new("open", path, error))
    };
    let procs = open(&dir.path.join(PROCS), OpenOptions::new().write(true))?;
    let only_to_name_it = OpenOptions::new().read(true).custom_flags(libc::O_PATH).clone();
    let group = (dir.version == Version::Two).then(|| open(&dir.path, &only_to_name_it)).transpose()?;
    Ok(Door { procs, group })
}

pub(super) fn step_through(dir: &Dir) {
    // Where that is refused this process stays in the scope.
    let _ = door(dir).map(|mut door| door.procs.write_all(b"0"));
}

/// The bases of hierarchies in which this process is in a scope.
pub(super) fn ways_out() -> Vec<Dir> {
    // Nearly nobody who asks is in one, and there may be thousands of mounts.
    let groups = read(OWN_GROUPS);
    if !groups.windows(PREFIX.len()).any(|part| part == PREFIX.as_bytes()) {
        return Vec::new();
    }
    let inside = hierarchies().into_iter().filter(|h| h.inside);
    inside.map(|h| Dir { version: h.version, path: h.base }).collect()
}

pub(super) fn members(dir: &Path) -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for dir in below(dir) {
        match fs::read_to_string(dir.join(PROCS)) {
            // A process of another pid namespace shows as 0 and can be named by nobody here.
            Ok(text) => {
                pids.extend(text.lines().filter_map(|l| l.parse::<u32>().ok()).filter(|pid| *pid != 0))
            }
            Err(error) if is_gone(&error) || error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

pub(super) fn seal(dir: &Path) {
    for dir in below(dir) {
        let limit = dir.join("pids.max");
        if limit.exists() {
            let _ = fs::write(limit, "0");
        }
    }
}

pub(super) fn kill(dir: &Path) {
    // Since Linux 5.14; before it, whoever calls goes on killing one by one.
    let _ = OpenOptions::new().write(true).open(dir.join("cgroup.kill")).map(|mut kill| kill.write_all(b"1"));
}

pub(super) fn met(dir: &Dir, met: &mut Met) {
    let count = |file: &str, key: &str| {
        let text = fs::read_to_string(dir.path.join(file)).unwrap_or_default();
        let value = |line: &str| line.strip_prefix(key)?.trim().parse::<u64>().ok();
        text.lines().find_map(value).unwrap_or(0)
    };
    met.pids += count("pids.events", "max ");
    met.memory += count("memory.events", "oom_kill ") + count("memory.oom_control", "oom_kill ");
}

pub(super) fn remove(dir: &Path) -> bool {
    let mut dirs = below(dir);
    dirs.reverse();
    for dir in dirs {
        // Whoever is inside keeps it.
        let _ = fs::remove_dir(dir);
    }
    !dir.exists()
}

/// The group and all below it, each before its own; those that can't be listed are left out.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    let mut level = 0..1;
    for _ in 0..DEPTH {
        for at in level.clone() {
            let entries = fs::read_dir(&found[at]).into_iter().flatten().flatten();
            let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            found.extend(dirs.map(|entry| entry.path()).collect::<Vec<_>>());
        }
        level = level.end..found.len();
        if level.is_empty() {
            break;
        }
    }
    found
}

/// Groups can be made there and processes moved into them: the kernel asks for a writable `cgroup.procs` in both and
/// in what is above both.
fn can_hold(base: &Path) -> bool {
    let writable = |path: &Path, how| accessat(CWD, path, how, AtFlags::EACCESS).is_ok();
    writable(base, Access::WRITE_OK | Access::EXEC_OK) && writable(&base.join(PROCS), Access::WRITE_OK)
}

/// Groups below this one of version 2 have that controller; it is switched on if need be and possible.
fn offers(base: &Path, controller: &str) -> bool {
    let lists = |file: &str| {
        let text = fs::read_to_string(base.join(file)).unwrap_or_default();
        text.split_ascii_whitespace().any(|word| word == controller)
    };
    let on = base.join("cgroup.subtree_control");
    lists("cgroup.subtree_control")
        || lists("cgroup.controllers") && fs::write(on, format!("+{controller}")).is_ok()
}

/// Every mounted hierarchy that this process is in.
fn hierarchies() -> Vec<Hierarchy> {
    let mounts = read("/proc/self/mountinfo");
    let groups = read(OWN_GROUPS);
    let mounts: Vec<Mount> = mounts.split(|byte| *byte == b'\n').filter_map(mount).collect();
    let mut found = Vec::new();
    for (version, controllers, path) in groups.split(|byte| *byte == b'\n').filter_map(group) {
        let fits = |m: &&Mount| m.version == version && controllers.iter().all(|c| m.options.contains(c));
        let Some(mount) = mounts.iter().find(fits) else { continue };
        let Ok(path) = Path::new(&path).strip_prefix(&mount.root) else { continue };
        if path.components().any(|part| part == Component::ParentDir) {
            continue;
        }
        let is_scope = |part: &Component<'_>| part.as_os_str().as_bytes().starts_with(PREFIX.as_bytes());
        let inside = path.components().any(|part| is_scope(&part));
        let outside: PathBuf = path.components().take_while(|part| !is_scope(part)).collect();
        found.push(Hierarchy { version, controllers, base: mount.point.join(outside), inside });
    }
    found
}

/// A file of `/proc`, which says no length before: read in few steps, for each may take a lock. Empty when it can't be.
fn read(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 << 10);
    match fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}

/// A line of `/proc/<pid>/cgroup`: version, controllers, path.
fn group(line: &[u8]) -> Option<(Version, Vec<String>, OsString)> {
    let mut parts = line.splitn(3, |byte| *byte == b':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let controllers = str::from_utf8(controllers).ok()?;
    let version = if controllers.is_empty() { Version::Two } else { Version::One };
    let controllers = controllers.split(',').filter(|c| !c.is_empty()).map(str::to_owned).collect();
    Some((version, controllers, OsString::from_vec(path.to_vec())))
}

struct Mount {
    version: Version,
    root: PathBuf,
    point: PathBuf,
    options: Vec<String>,
}

/// A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)), of a control group.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (root, point) = (fields.nth(3)?, fields.next()?);
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let version = match fields.next()? {
        b"cgroup2" => Version::Two,
        b"cgroup" => Version::One,
        _ => return None,
    };
    let options = str::from_utf8(fields.nth(1)?).ok()?.split(',').map(str::to_owned).collect();
    Some(Mount { version, root: unescape(root), point: unescape(point), options })
}

/// Blanks, tabs, newlines and backslashes are written as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\').then(|| after.first_chunk::<3>()).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_both_versions_are_read() {
        let two = mount(b"41 31 0:38 / /sys/fs/a\\040b rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate")
            .unwrap();
        assert_eq!((two.version, two.point), (Version::Two, PathBuf::from("/sys/fs/a b")));
        let one = mount(b"39 31 0:36 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids").unwrap();
        assert_eq!((one.version, one.root), (Version::One, PathBuf::from("/docker/x")));
        assert!(one.options.contains(&"pids".to_owned()));
        assert!(mount(b"23 1 0:22 / /proc rw - proc proc rw").is_none());
    }

    #[test]
    fn groups_of_both_versions_are_read() {
        assert_eq!(group(b"0::/a:b"), Some((Version::Two, vec![], "/a:b".into())));
        let both = vec!["cpu".to_owned(), "cpuacct".to_owned()];
        assert_eq!(group(b"4:cpu,cpuacct:/x"), Some((Version::One, both, "/x".into())));
        assert_eq!(group(b""), None);
    }
}
