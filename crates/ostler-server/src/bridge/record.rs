//! The records of a task's stream: one JSON object each, behind `data: `, without names and ids.
//!
//! Two generations of clients read two spellings, so chunks and ends have both.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

/// One record; the order of the fields is the order on the wire.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Record<'a> {
    /// The stream is open.
    Connected {
        /// The task, in the one spelling that this record ever had.
        #[serde(rename = "taskId")]
        task_id: &'a str,
    },
    /// More text.
    Chunk {
        /// The text.
        text: &'a str,
        /// The task.
        task_id: &'a str,
        /// The text again.
        chunk: &'a str,
    },
    /// A tool runs.
    ToolProgress {
        /// Which.
        tool_name: &'a str,
        /// For how many seconds.
        elapsed: Seconds,
    },
    /// Somebody has to decide.
    PermissionRequest {
        /// The question.
        request_id: &'a str,
        /// The task.
        task_id: &'a str,
        /// What wants to run.
        tool_name: &'a str,
        /// With what.
        input: &'a RawValue,
        /// Which call it is.
        tool_use_id: &'a str,
    },
    /// It is over, by itself.
    Done {
        /// 0 or 1.
        #[serde(rename = "exitCode")]
        exit_code: i64,
        /// The task.
        task_id: &'a str,
        /// `done`.
        status: &'a str,
    },
    /// It is over, and failed.
    Error {
        /// Why.
        reason: &'a str,
        /// The task.
        task_id: &'a str,
        /// `failed`, or `not_found` where there is no such task.
        status: &'a str,
    },
}

/// Seconds as JavaScript writes them: whole ones without a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seconds(pub(super) f64);

impl Serialize for Seconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0.trunc();
        // Within what a float counts exactly.
        if whole == self.0 && whole.abs() < 9e15 {
            serializer.serialize_i64(whole as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl Record<'_> {
    /// As it stands in the stream.
    pub(super) fn to_wire(&self) -> Bytes {
        let mut line = b"data: ".to_vec();
        // Nothing in a record can fail to be JSON.
        line.extend(serde_json::to_vec(self).unwrap_or_default());
        line.extend(b"\n\n");
        line.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(record: &Record<'_>) -> String {
        String::from_utf8(record.to_wire().to_vec()).expect("text")
    }

    #[test]
    fn records_byte_for_byte() {
        let id = "task_1_2";
        let input = RawValue::from_string("{\"command\":\"make\"}".to_owned()).expect("JSON");
        for (record, expected) in [
            (Record::Connected { task_id: id }, r#"{"type":"connected","taskId":"task_1_2"}"#),
            (
                Record::Chunk { text: "a\n\"b\"", task_id: id, chunk: "a\n\"b\"" },
                r#"{"type":"chunk","text":"a\n\"b\"","task_id":"task_1_2","chunk":"a\n\"b\""}"#,
            ),
            (
                Record::ToolProgress { tool_name: "Bash", elapsed: Seconds(3.0) },
                r#"{"type":"tool_progress","tool_name":"Bash","elapsed":3}"#,
            ),
            (
                Record::ToolProgress { tool_name: "Bash", elapsed: Seconds(1.5) },
                r#"{"type":"tool_progress","tool_name":"Bash","elapsed":1.5}"#,
            ),
            (
                Record::PermissionRequest {
                    request_id: "r",
                    task_id: id,
                    tool_name: "Bash",
                    input: &input,
                    tool_use_id: "t",
                },
                r#"{"type":"permission_request","request_id":"r","task_id":"task_1_2","tool_name":"Bash","input":{"command":"make"},"tool_use_id":"t"}"#,
            ),
            (
                Record::Done { exit_code: 0, task_id: id, status: "done" },
                r#"{"type":"done","exitCode":0,"task_id":"task_1_2","status":"done"}"#,
            ),
            (
                Record::Error { reason: "cancelled", task_id: id, status: "failed" },
                r#"{"type":"error","reason":"cancelled","task_id":"task_1_2","status":"failed"}"#,
            ),
        ] {
            assert_eq!(wire(&record), format!("data: {expected}\n\n"));
        }
    }
}
