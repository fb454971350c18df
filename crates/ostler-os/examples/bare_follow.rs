//! The least that following a file takes: inotify(7) and read(2), nothing of ours. `scripts/bench` measures beside it.
//!
//! Prints how many nanoseconds after its writing each line was seen, one a line. Arguments: the file, how many lines.
//! A line is 250 bytes, newline included, and has the time of its writing (nanoseconds since 1970) at 33..53.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let (Some(path), Some(Ok(count))) = (args.get(1), args.get(2).map(|n| n.parse::<usize>())) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: bare_follow FILE LINES"));
    };
    let waits = follow(path, count)?;
    let text: String = waits.iter().map(|nanos| format!("{nanos}\n")).collect();
    io::stdout().write_all(text.as_bytes())
}

#[cfg(target_os = "linux")]
fn follow(path: &str, count: usize) -> io::Result<Vec<u128>> {
    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
    use std::io::Read;
    use std::mem::MaybeUninit;
    use std::time::SystemTime;

    const LENGTH: usize = 250;
    let mut file = std::fs::File::open(path)?;
    let notices = init(CreateFlags::CLOEXEC)?;
    add_watch(&notices, path, WatchFlags::MODIFY)?;
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(&notices, &mut space);
    let (mut chunk, mut held, mut waits) = (vec![0; 64 << 10], Vec::new(), Vec::with_capacity(count));
    loop {
        let read = file.read(&mut chunk)?;
        held.extend_from_slice(&chunk[..read]);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let whole = held.len() / LENGTH * LENGTH;
        for line in held[..whole].chunks(LENGTH) {
            let written = std::str::from_utf8(&line[33..53]).ok().and_then(|text| text.parse::<u128>().ok());
            let written = written.ok_or(io::ErrorKind::InvalidData)?;
            waits.push(now.saturating_sub(written));
        }
        held.drain(..whole);
        if waits.len() >= count {
            return Ok(waits);
        }
        if read == 0 {
            reader.next()?;
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn follow(_: &str, _: usize) -> io::Result<Vec<u128>> {
    Err(io::ErrorKind::Unsupported.into())
}
