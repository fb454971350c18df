//! `doctor` and `doctor rebuild`.

use super::event::word_of;
use crate::doctor::Report;
use ostler_controller::client::Rebuilt;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct DoctorDocument {
    status: Option<String>,
    findings: Vec<FindingBody>,
    installations: Vec<InstallationBody>,
}

#[derive(Debug, Serialize)]
struct FindingBody {
    id: String,
    status: Option<String>,
    what: String,
    why: Option<String>,
    advice: Option<String>,
}

#[derive(Debug, Serialize)]
struct InstallationBody {
    path: String,
    real: Option<String>,
    kind: Option<String>,
    version: Option<String>,
    note: Option<String>,
}

impl DoctorDocument {
    pub(crate) fn of(report: &Report) -> Self {
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            status: word_of(&report.status),
            findings: report
                .findings
                .iter()
                .map(|f| FindingBody {
                    id: f.id.to_owned(),
                    status: word_of(&f.status),
                    what: f.what.clone(),
                    why: some(&f.why),
                    advice: some(&f.advice),
                })
                .collect(),
            installations: report
                .installations
                .iter()
                .map(|i| InstallationBody {
                    path: i.path.display().to_string(),
                    real: i.real.as_ref().map(|p| p.display().to_string()),
                    kind: word_of(&i.kind),
                    version: i.version.clone(),
                    note: i.note.clone(),
                })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct RebuildDocument {
    equal: bool,
    repaired: bool,
    sessions: Vec<RebuiltBody>,
}

#[derive(Debug, Serialize)]
struct RebuiltBody {
    session: String,
    differs: Vec<String>,
}

impl RebuildDocument {
    pub(crate) fn of(all: &[Rebuilt], repaired: bool) -> Self {
        Self {
            equal: all.iter().all(|r| r.differs.is_empty()),
            repaired,
            sessions: all
                .iter()
                .map(|r| RebuiltBody { session: r.session.to_string(), differs: r.differs.clone() })
                .collect(),
        }
    }
}
