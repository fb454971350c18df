//! `madvise(MADV_DONTNEED)` on the executable's read-only mappings.

use std::io;
use std::ops::Range;

pub(super) fn forget_code() -> io::Result<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mut told = 0;
    for range in clean(&maps) {
        let len = range.end - range.start;
        #[expect(unsafe_code, reason = "rustix has this call only as an unsafe function too")]
        // SAFETY: the range is a mapping of a file without write permission, now and since the program was loaded, so
        // its pages are those of the file. Dropping them changes nothing that could be read.
        let done = unsafe { libc::madvise(range.start as *mut libc::c_void, len, libc::MADV_DONTNEED) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        told += len as u64;
    }
    Ok(told)
}

pub(super) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "a function of the C library")]
    // SAFETY: it may be called at any time, and touches only what is free (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The mappings that were never written: code, and the constants that come right before it. What comes behind the code
/// may look the same and isn't: the dynamic linker has written to it and then protected it (RELRO).
fn clean(maps: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut before: Option<(Range<usize>, &str)> = None;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(mode)) = (fields.next().and_then(range), fields.next()) else { continue };
        let file = fields.nth(3).filter(|path| path.starts_with('/'));
        if let Some(file) = file.filter(|_| mode == "r-xp") {
            let constants = before.take().filter(|(r, of)| r.end == range.start && *of == file);
            found.extend(constants.map(|(r, _)| r));
            found.push(range);
            continue;
        }
        before = file.filter(|_| mode == "r--p").map(|file| (range, file));
    }
    found
}

fn range(text: &str) -> Option<Range<usize>> {
    let (start, end) = text.split_once('-')?;
    let number = |hex| usize::from_str_radix(hex, 16).ok();
    Some(number(start)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_linker_has_written_to_is_left_alone() {
        let maps = "1000-2000 r--p 00000000 fe:00 7 /bin/ostler\n\
                    2000-9000 r-xp 00001000 fe:00 7 /bin/ostler\n\
                    9000-a000 r--p 00008000 fe:00 7 /bin/ostler\n\
                    a000-b000 rw-p 00009000 fe:00 7 /bin/ostler\n\
                    c000-d000 rw-p 00000000 00:00 0 [heap]\n\
                    d000-e000 r--p 00000000 fe:00 9 /lib/libc.so.6\n\
                    f000-ff000 r-xp 00000000 00:00 0 [vdso]\n";
        assert_eq!(clean(maps), [0x1000..0x2000, 0x2000..0x9000]);
    }
}
