//! A generation is started.
//!
//! The folder and its files come first, then the `spawn` row, then the fork. A controller that is killed in between
//! leaves either a generation that never ran (its `alive` lock is free and it has no exit) or one that the next
//! controller adopts.

use super::error::ControllerError;
use super::pipe::Pipe;
use super::{Controller, log, transcript};
use crate::crash;
use ostler_core::argv::{self, Files, Platform, Start};
use ostler_core::ctl::{Event, Exit};
use ostler_core::env::{ChildStart, Identity, LabAccess, Place, child_env};
use ostler_core::ids::DeliveryId;
use ostler_os::process::{self, PidFd};
use ostler_os::{durable, fifo};
use ostler_store::GenDir;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// Everything that the fork needs.
struct Launch {
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    /// By how many bytes somebody else has changed the transcript.
    foreign: Option<i64>,
}

/// `spawn.json`, for people.
#[derive(Serialize)]
struct SpawnFile<'a> {
    argv: Vec<String>,
    cwd: String,
    env_names: Vec<String>,
    binary: &'a str,
    binary_hash: &'a str,
    version: &'a str,
    pid: u32,
    start_ticks: u64,
    boot_id: String,
    host: String,
}

impl Controller {
    pub(super) fn start_generation(&mut self, delivery: DeliveryId) -> Result<(), ControllerError> {
        let no = self.machine.generation() + 1;
        let files = self.dir.generation(no);
        durable::create_dir_private(&files.path)?;
        fifo::create(&files.in_()).or_else(|e| already_there(&files, e))?;
        crash::point("folder-made");
        let prepared = self.prepare(no);
        self.open_generation(no)?;
        let (resume, baseline) = match &prepared {
            Ok((_, start, baseline)) => (matches!(start, Start::Resume { .. }), baseline.clone()),
            Err(_) => Default::default(),
        };
        let conversation = self.machine.conversation();
        let version = self.spec.launcher.resolved.version.clone();
        self.say(Event::Spawn { generation: no, delivery, conversation, resume, baseline, version })?;
        crash::point("spawn-written");
        self.say_what_it_forks()?;
        if let Some(bytes) = prepared.as_ref().ok().and_then(|(launch, ..)| launch.foreign) {
            log(&format!("somebody else has changed the transcript, by {bytes} bytes"));
            self.say(Event::Foreign { bytes })?;
        }
        crash::point("before-fork");
        let launch = match prepared {
            Ok((launch, ..)) => launch,
            Err(why) => return self.not_started(why),
        };
        match self.keeper.spawn(no, &files.path, self.spec.caps, &launch.cwd, &launch.argv, &launch.env)? {
            Ok((pid, start)) => self.started(&files, &launch, pid, start),
            Err(why) => self.not_started(why),
        }
    }

    /// Argv, environment and files; why not, for people, when they can't be had.
    fn prepare(&mut self, no: u32) -> Result<(Launch, Start, ostler_core::ctl::Baseline), String> {
        let platform = Platform::of(std::env::consts::OS);
        let cwd = PathBuf::from(&self.spec.cwd);
        if !cwd.is_dir() {
            return Err(format!("the working directory {} is not there any more", cwd.display()));
        }
        let lab = self.lab_access().map_err(|e| format!("the lab can't be started: {e}"))?;
        let access = lab.as_ref().map(|l| LabAccess { base_url: &l.base_url, config_dir: &l.config_dir });
        let token = self.token().map_err(|e| super::error::chain(&e))?;
        let home = self.home.root().to_string_lossy().into_owned();
        let program = ostler_os::me::exe_path().map_err(|e| e.to_string())?;
        let program = program.to_string_lossy().into_owned();
        let identity = Identity { session: self.session, generation: no, token: &token };
        let place = Place { home: &home, program: &program };
        let start = ChildStart { identity, place, lab: access, platform };
        let parent: Vec<_> = std::env::vars_os().collect();
        let read = |path: &str| std::fs::read_to_string(path).map_err(|e| e.to_string());
        let env = child_env(&self.spec, &parent, &read, &start).map_err(|e| super::error::chain(&e))?;
        let conversation = self.machine.conversation();
        let found = transcript::find_or_link_back(&env, conversation, &self.dir.transcript());
        let foreign = transcript::foreign(&self.dir, no, conversation, found.as_deref());
        // Where the CLI says that it has the conversation, it has it.
        let (start, begins_with) = if found.is_some() || self.machine.is_in_use() {
            (Start::Resume { conversation }, found)
        } else if let Some(fork) = self.copies() {
            let (from, path) = (fork.conversation, self.source_of(fork, &env)?);
            (Start::Fork { conversation, from }, Some(path))
        } else {
            (Start::Fresh { conversation }, None)
        };
        // What was copied was paid for by whoever said it.
        let baseline = begins_with.as_deref().map(transcript::baseline).unwrap_or_default();
        let launch_dir = self.dir.path.join("launch");
        self.write_launch_files(&launch_dir)?;
        let argv = argv::build(&self.spec, start, platform, &Files::in_dir(&launch_dir))
            .map_err(|e| super::error::chain(&e))?;
        argv::check_size(&argv, &env, platform).map_err(|e| super::error::chain(&e))?;
        Ok((Launch { argv, env, cwd, foreign }, start, baseline))
    }

    fn write_launch_files(&self, dir: &std::path::Path) -> Result<(), String> {
        durable::create_dir_private(dir).map_err(|e| super::error::chain(&e))?;
        for file in argv::files(&self.spec) {
            let path = dir.join(&file.name);
            durable::replace_file(&path, &file.contents).map_err(|e| super::error::chain(&e))?;
        }
        Ok(())
    }

    fn not_started(&mut self, why: String) -> Result<(), ControllerError> {
        log(&format!("not started: {why}"));
        let said = Some(why.chars().take(2_000).collect());
        self.say(Event::Dead { exit: Exit::NotStarted, proven: true, killed: 0, said })?;
        self.commit()
    }

    fn started(
        &mut self,
        files: &GenDir,
        launch: &Launch,
        pid: u32,
        start: u64,
    ) -> Result<(), ControllerError> {
        crash::point("after-fork");
        let boot = process::boot_id()?;
        self.say(Event::Child { pid, start, boot: boot.clone() })?;
        let identity = process::Identity { pid, start_ticks: start, boot_id: boot };
        self.pipe = Pipe::open(&files.in_()).map_err(|e| log(&super::error::chain(&e))).ok();
        crash::point("before-spawn-json");
        self.write_spawn_file(files, launch, &identity)?;
        self.child = PidFd::open_identity(&identity)?.map(|fd| (identity, fd));
        Ok(())
    }

    fn write_spawn_file(
        &self,
        files: &GenDir,
        launch: &Launch,
        identity: &process::Identity,
    ) -> Result<(), ControllerError> {
        let resolved = &self.spec.launcher.resolved;
        let file = SpawnFile {
            argv: launch.argv.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            cwd: launch.cwd.to_string_lossy().into_owned(),
            env_names: launch.env.iter().map(|(n, _)| n.to_string_lossy().into_owned()).collect(),
            binary: &resolved.program.path,
            binary_hash: &resolved.program.sha256,
            version: &resolved.version,
            pid: identity.pid,
            start_ticks: identity.start_ticks,
            boot_id: identity.boot_id.clone(),
            host: ostler_os::me::hostname(),
        };
        let text = serde_json::to_vec_pretty(&file).map_err(std::io::Error::from)?;
        durable::replace_file(&files.spawn_json(), &text)?;
        Ok(())
    }
}

/// An earlier controller was killed between making the folder and the `spawn` row: nothing has used its FIFO yet.
fn already_there(files: &GenDir, error: ostler_os::PathError) -> Result<(), ostler_os::PathError> {
    let unused = !files.alive().exists() && files.in_().exists();
    if unused { Ok(()) } else { Err(error) }
}
