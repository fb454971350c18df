//! The launch spec that a command line means.

use super::face::Face;
use super::spec_options::SpecArgs;
use super::words;
use crate::failure::{Failure, UsageError};
use crate::launcher::{self, Install, Progress, Search};
use claude_lab::Script;
use ostler_core::argv::Platform;
use ostler_core::env::{self, Choice};
use ostler_core::spec::{
    CacheTtl, Caps, Credential, DEFAULT_MODEL, Environment, LabSpec, LaunchSpec, Launcher, PermissionMode,
    PinnedFile, Resolved, SettingSources, full_model_id, parse_extra,
};
use ostler_os::scope::{Hierarchies, Scope};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Makes the launch spec: finds claude (installing it where needed and allowed), reads the files that options name,
/// takes the environment over.
pub(super) fn launch_spec(args: &SpecArgs, face: &Face) -> Result<LaunchSpec, Failure> {
    let lab = lab(args)?;
    let mut shown = Installing::new(face);
    let spec = spec_with(args, lab, &mut |p| shown.show(p));
    shown.end();
    spec
}

/// The same for any face: the lab's script comes as text, and what an installation says goes to `progress`.
pub(super) fn spec_with(
    args: &SpecArgs,
    lab: Option<LabSpec>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<LaunchSpec, Failure> {
    let platform = Platform::of(std::env::consts::OS);
    let parent: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let cwd = working_directory(args.cwd.as_deref())?;
    let environment = env::capture(&parent, &choice(args, lab.is_some())?, platform)?;
    // Everything that can be refused quickly is refused before claude is looked for or even installed.
    let mut spec = described(args, &cwd, environment, lab)?;
    spec.validate(platform)?;

    let here = current_dir()?;
    let mut search = Search::new(&parent, &here);
    search.command = args.claude.as_deref();
    search.install = if args.no_install { Install::Refused } else { Install::Allowed };
    spec.launcher = launcher::find(&search, progress)?.launcher;
    spec.validate(platform)?;
    Ok(spec)
}

/// The launcher of a stored spec as it would be found now: the same command line, resolved again.
pub(super) fn launcher_of(spec: &LaunchSpec, face: &Face) -> Result<Launcher, Failure> {
    let env = spec.launcher.resolved.env.iter().map(|(name, value)| format!("{name}={value}"));
    let program = std::iter::once(spec.launcher.resolved.program.path.clone());
    let words = env.chain(program).chain(spec.launcher.resolved.args.iter().cloned());
    let line = words::command_line(words.map(OsString::from));
    launcher_of_command(&line, face)
}

/// The launcher that a command line means.
pub(super) fn launcher_of_command(line: &str, face: &Face) -> Result<Launcher, Failure> {
    let parent: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let here = current_dir()?;
    let mut search = Search::new(&parent, &here);
    search.command = Some(line);
    search.install = Install::Refused;
    let mut shown = Installing::new(face);
    let found = launcher::find(&search, &mut |p| shown.show(p));
    shown.end();
    Ok(found?.launcher)
}

/// Everything but the launcher.
fn described(
    args: &SpecArgs,
    cwd: &str,
    environment: Environment,
    lab: Option<LabSpec>,
) -> Result<LaunchSpec, Failure> {
    let texts = Texts::read(args)?;
    let model = full_model_id(args.model.as_deref().unwrap_or(DEFAULT_MODEL));
    let mut spec = LaunchSpec::new(no_launcher_yet(), &model, cwd, environment);
    spec.fallback_models = args.fallback_model.iter().map(|m| full_model_id(m)).collect();
    spec.tools = args.tools.as_ref().map(|t| t.iter().filter(|t| !t.is_empty()).cloned().collect());
    spec.allowed.clone_from(&args.allowed_tools);
    spec.disallowed.clone_from(&args.disallowed_tools);
    spec.permission_mode = args.permission_mode.unwrap_or(PermissionMode::Default);
    spec.skip_permissions = args.skip_permissions;
    spec.permission_policy = args.permission.map(Into::into).unwrap_or_default();
    spec.permission_timeout = args.permission_timeout.map(milliseconds);
    spec.auto_continue = args.auto_continue;
    refuse_as_root(&spec)?;
    spec.strict_mcp = args.strict_mcp_config;
    spec.setting_sources = setting_sources(args);
    spec.plugin_dirs = real_paths(&args.plugin_dir)?;
    spec.added_dirs = real_paths(&args.add_dir)?;
    spec.agent.clone_from(&args.agent);
    spec.effort.clone_from(&args.effort);
    spec.cache_ttl = CacheTtl { main: args.cache_ttl, subagents: None };
    spec.max_turns = args.max_turns;
    spec.max_budget_usd = args.max_budget_usd;
    spec.caps = caps(args)?;
    spec.on_cut = args.on_cut.into();
    spec.on_limit = args.on_limit.into();
    spec.lab = lab;
    spec.extra = parse_extra(&args.claude_flag)?;
    texts.put_into(&mut spec);
    Ok(spec)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// claude ends at once where it would ask nothing and may do everything; better said before anything is stored.
fn refuse_as_root(spec: &LaunchSpec) -> Result<(), Failure> {
    let asks_nothing = spec.skip_permissions || spec.permission_mode == PermissionMode::BypassPermissions;
    let sandboxed = spec.environment.values.contains_key("IS_SANDBOX");
    if asks_nothing && !sandboxed && ostler_os::limits::is_root() {
        return Err(UsageError::SkipsAsRoot.into());
    }
    Ok(())
}

/// Limits are refused here, before anything is stored, and again at each start.
fn caps(args: &SpecArgs) -> Result<Caps, Failure> {
    let caps = Caps { pids: args.max_pids, memory: args.max_memory };
    let wanted = ostler_os::scope::Caps { pids: caps.pids, memory: caps.memory };
    Scope::plan("probe", &wanted, Hierarchies::Any).map_err(UsageError::Limits)?;
    Ok(caps)
}

/// Stands where the launcher will be, so that everything else can be checked before claude is looked for.
fn no_launcher_yet() -> Launcher {
    let path = if std::path::MAIN_SEPARATOR == '/' { "/claude" } else { "C:\\claude" };
    let program = PinnedFile { path: path.to_owned(), sha256: String::new(), size: 0, mtime_ns: 0 };
    let resolved = Resolved {
        env: Vec::new(),
        program,
        args: Vec::new(),
        scripts: Vec::new(),
        version: String::new(),
        agents_by_file: true,
    };
    Launcher { command: vec![path.to_owned()], resolved }
}

/// Texts that options name files for.
struct Texts {
    mcp: Vec<String>,
    settings: Option<String>,
    agents: Option<String>,
    json_schema: Option<String>,
    system_prompt: Option<String>,
    append_system_prompt: Option<String>,
}

impl Texts {
    fn read(args: &SpecArgs) -> Result<Self, Failure> {
        let json = |value: &String| json_or_file(value);
        Ok(Self {
            mcp: args.mcp_config.iter().map(json).collect::<Result<_, _>>()?,
            settings: args.settings.as_ref().map(json).transpose()?,
            agents: args.agents.as_ref().map(json).transpose()?,
            json_schema: args.json_schema.as_ref().map(json).transpose()?,
            system_prompt: text_or_file(&args.system_prompt, &args.system_prompt_file)?,
            append_system_prompt: text_or_file(&args.append_system_prompt, &args.append_system_prompt_file)?,
        })
    }

    fn put_into(self, spec: &mut LaunchSpec) {
        spec.mcp = self.mcp;
        spec.settings = self.settings;
        spec.agents = self.agents;
        spec.json_schema = self.json_schema;
        spec.system_prompt = self.system_prompt;
        spec.append_system_prompt = self.append_system_prompt;
    }
}

/// A value that begins with a brace is JSON itself; any other is the name of a file.
fn json_or_file(value: &str) -> Result<String, Failure> {
    if value.trim_start().starts_with('{') { Ok(value.to_owned()) } else { read_text(Path::new(value)) }
}

#[expect(clippy::ref_option, reason = "both are fields of the parsed options")]
fn text_or_file(text: &Option<String>, file: &Option<PathBuf>) -> Result<Option<String>, Failure> {
    file.as_deref().map_or_else(|| Ok(text.clone()), |path| read_text(path).map(Some))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|source| UsageError::File { path: path.to_owned(), source })?;
    Ok(String::from_utf8(bytes).map_err(|_| UsageError::FileNotUtf8 { path: path.to_owned() })?)
}

fn lab(args: &SpecArgs) -> Result<Option<LabSpec>, Failure> {
    let Some(script) = &args.lab else { return Ok(None) };
    let script = match script {
        None => None,
        Some(path) => Some(read_text(path)?),
    };
    lab_of(script).map(Some)
}

/// The lab with that script, if it is one.
pub(super) fn lab_of(script: Option<String>) -> Result<LabSpec, Failure> {
    if let Some(text) = &script {
        Script::parse(text)?;
    }
    Ok(LabSpec { script })
}

fn choice(args: &SpecArgs, lab: bool) -> Result<Choice, Failure> {
    if lab && args.credential.is_some() {
        return Err(UsageError::Together { first: "--lab", second: "--credential" }.into());
    }
    let credential = if lab { Some(Credential::Lab) } else { args.credential };
    let mut choice = Choice { credential, ..Choice::default() };
    for word in &args.env {
        match word.split_once('=') {
            Some((name, value)) => choice.set.push((name.to_owned(), value.to_owned())),
            None => choice.keep.push(word.clone()),
        }
    }
    Ok(choice)
}

fn setting_sources(args: &SpecArgs) -> SettingSources {
    match &args.setting_sources {
        _ if args.bare => SettingSources::Bare,
        None => SettingSources::Full,
        Some(chosen) => SettingSources::Chosen(chosen.iter().filter_map(|s| s.0).collect()),
    }
}

fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|source| UsageError::Cwd { path: ".".into(), source }.into())
}

/// The real path of the directory where the child is to run.
fn working_directory(asked: Option<&Path>) -> Result<String, Failure> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => current_dir()?,
    };
    real_directory(&path)
}

fn real_directory(path: &Path) -> Result<String, Failure> {
    let real = path.canonicalize().map_err(|source| UsageError::Cwd { path: path.to_owned(), source })?;
    if !real.is_dir() {
        return Err(UsageError::NotADirectory { path: real }.into());
    }
    real.into_os_string().into_string().map_err(|s| UsageError::PathNotUtf8 { path: s.into() }.into())
}

/// Plugins may be files.
fn real_paths(paths: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let real = |path: &PathBuf| {
        let real = path.canonicalize().map_err(|source| UsageError::File { path: path.clone(), source })?;
        real.into_os_string().into_string().map_err(|s| UsageError::PathNotUtf8 { path: s.into() })
    };
    Ok(paths.iter().map(real).collect::<Result<_, _>>()?)
}

/// What is said while claude is being installed: a line that is drawn again on a terminal, few lines elsewhere.
struct Installing<'a> {
    face: &'a Face,
    drawn: bool,
    tenths: u64,
}

impl<'a> Installing<'a> {
    fn new(face: &'a Face) -> Self {
        Self { face, drawn: false, tenths: 0 }
    }

    fn show(&mut self, progress: &Progress) {
        match progress {
            Progress::Waiting { holder } => {
                let who = holder.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                self.line(&format!("another ostler{who} installs claude; waiting for it"));
            }
            Progress::Starting { package, into } => {
                self.line(&format!("no claude found; installing {package} by npm into {}", into.display()));
            }
            Progress::Fetching { bytes, expected } => self.fetching(*bytes, *expected),
            Progress::Checking => self.line("checking that it works"),
            Progress::Done { path, took } => {
                let took = crate::view::duration(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
                self.line(&format!("installed {} in {took}", path.display()));
            }
        }
    }

    fn fetching(&mut self, bytes: u64, expected: Option<u64>) {
        let share = expected.filter(|all| *all > 0).map(|all| (bytes * 100 / all).min(99));
        let size = crate::view::bytes(bytes);
        let text = share.map_or_else(|| size.clone(), |share| format!("{share} %  {size}"));
        if self.face.is_live() {
            self.drawn = true;
            let _ = self.face.print(&format!("\r\u{1b}[K  {text}"));
            return;
        }
        let tenths = share.unwrap_or(0) / 25;
        if tenths > self.tenths {
            self.tenths = tenths;
            self.line(&format!("  {text}"));
        }
    }

    fn line(&mut self, text: &str) {
        self.end();
        self.face.remark(text);
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = self.face.print("\r\u{1b}[K");
        }
    }
}
