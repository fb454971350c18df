//! A fork that starts differently from its source: one field, one value.

use super::super::face::Face;
use super::super::spec::launcher_of_command;
use crate::failure::{Failure, UsageError};
use ostler_core::fingerprint::Field;
use ostler_core::spec::{LaunchSpec, PermissionMode, SettingSource, SettingSources, Ttl, full_model_id};
use std::path::Path;

/// Applies `field=value`.
pub(super) fn apply(spec: &mut LaunchSpec, change: &str, face: &Face) -> Result<(), Failure> {
    let bad = || Failure::from(UsageError::Change { change: change.to_owned() });
    let (field, value) = change.split_once('=').ok_or_else(bad)?;
    let list = || value.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let real = |path: &str| -> Result<String, Failure> {
        let failed = |source| UsageError::File { path: path.into(), source };
        Ok(Path::new(path).canonicalize().map_err(failed)?.to_string_lossy().into_owned())
    };
    match Field::of_word(field).ok_or_else(bad)? {
        Field::Model => spec.model = full_model_id(value),
        Field::Program | Field::Version => spec.launcher = launcher_of_command(value, face)?,
        Field::Tools => spec.tools = Some(list()),
        Field::Permissions => spec.permission_mode = value.parse::<Mode>().map_err(|()| bad())?.0,
        Field::Mcp => spec.mcp = vec![value.to_owned()],
        Field::Settings => spec.settings = Some(value.to_owned()),
        Field::Sources => spec.setting_sources = sources(&list()).ok_or_else(bad)?,
        Field::Dirs => spec.added_dirs = list().iter().map(|dir| real(dir)).collect::<Result<_, _>>()?,
        Field::Agents => spec.agents = Some(value.to_owned()),
        Field::Prompt => spec.append_system_prompt = Some(value.to_owned()),
        Field::Schema => spec.json_schema = Some(value.to_owned()),
        Field::Flags => spec.effort = Some(value.to_owned()),
        Field::Cwd => spec.cwd = real(value)?,
        Field::Environment => {
            let (name, value) = value.split_once('=').ok_or_else(bad)?;
            spec.environment.values.insert(name.to_owned(), value.to_owned());
        }
        Field::CacheTtl => {
            spec.cache_ttl.main = Some(match value {
                "5m" => Ttl::FiveMinutes,
                "1h" => Ttl::OneHour,
                _ => return Err(bad()),
            });
        }
        // Nobody decides these.
        Field::PromptTool | Field::Git => return Err(bad()),
    }
    Ok(())
}

struct Mode(PermissionMode);

impl std::str::FromStr for Mode {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let json = serde_json::Value::String(word.to_owned());
        serde_json::from_value(json).map(Self).map_err(|_| ())
    }
}

fn sources(words: &[String]) -> Option<SettingSources> {
    let one = |word: &String| match word.as_str() {
        "user" => Some(SettingSource::User),
        "project" => Some(SettingSource::Project),
        "local" => Some(SettingSource::Local),
        _ => None,
    };
    words.iter().map(one).collect::<Option<Vec<_>>>().map(SettingSources::Chosen)
}
