//! Plays back a recorded session folder (`…/gen/N`): its `out`, at the pace that its `ctl` tells.

use std::path::Path;

use super::Refusal;
use super::input::Input;

pub(super) fn play(_folder: &Path, _input: Input) -> Result<i32, Refusal> {
    Err(Refusal::new("fake-claude: playing recordings is not built yet"))
}
