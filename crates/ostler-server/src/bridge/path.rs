//! What a request of the bridge means, by its method, path and query alone.

use axum::http::{Method, Uri};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A new task.
    Create,
    /// The end of one.
    Cancel,
    /// A decision.
    Permission,
    /// What came of one.
    Output,
    /// The same, as it comes; `open` is false for a method that gets no stream.
    Stream {
        /// A GET.
        open: bool,
    },
    /// How one stands: everything else below `/…/task`.
    Status,
}

/// The path belongs to the bridge: its second segment is `task`. The first one is never looked at.
pub(super) fn is_task(path: &str) -> bool {
    path.split('/').nth(2) == Some("task")
}

/// The meaning of a path that [`is_task`] says yes to.
pub(super) fn route(method: &Method, path: &str) -> Route {
    let mut rest = path.split('/').skip(3);
    let (word, more) = (rest.next().unwrap_or_default(), rest.next());
    match (method, word, more) {
        (&Method::POST, "create", None) => Route::Create,
        (&Method::POST, "cancel", None) => Route::Cancel,
        (&Method::POST, "permission", None) => Route::Permission,
        (&Method::GET, "output", None) => Route::Output,
        (_, "output", Some("stream")) => Route::Stream { open: method == Method::GET },
        _ => Route::Status,
    }
}

/// The first parameter of that name; None where there is none or it is empty.
pub(super) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let axum::extract::Query(all) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    all.into_iter().find(|(n, _)| n == name).map(|(_, value)| value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_segment_decides() {
        for yes in ["/v1/task", "/v1/task/", "/v2/task/create", "//task/output", "/x/task/y/z"] {
            assert!(is_task(yes), "{yes}");
        }
        for no in ["/", "/task", "/v1/tasks", "/v1/sessions/task", "/health", "", "/v1/Task"] {
            assert!(!is_task(no), "{no}");
        }
    }

    #[test]
    fn what_paths_mean() {
        let get = |path| route(&Method::GET, path);
        let post = |path| route(&Method::POST, path);
        assert_eq!(post("/v1/task/create"), Route::Create);
        assert_eq!(post("/v1/task/cancel"), Route::Cancel);
        assert_eq!(post("/v1/task/permission"), Route::Permission);
        assert_eq!(get("/v1/task/output"), Route::Output);
        assert_eq!(get("/v1/task/output/stream"), Route::Stream { open: true });
        assert_eq!(post("/v1/task/output/stream"), Route::Stream { open: false });
        for path in ["/v1/task", "/v1/task/", "/v1/task/anything", "/v1/task/create", "/v1/task/permission"] {
            assert_eq!(get(path), Route::Status, "{path}");
        }
        assert_eq!(post("/v1/task/output"), Route::Status);
        assert_eq!(route(&Method::DELETE, "/v1/task/create"), Route::Status);
    }

    #[test]
    fn the_first_parameter_counts() {
        let of = |text: &str| parameter(&text.parse().expect("a uri"), "task_id");
        assert_eq!(of("/v1/task?task_id=task_1_2").as_deref(), Some("task_1_2"));
        assert_eq!(of("/v1/task?a=b&task_id=a%20b&task_id=c").as_deref(), Some("a b"));
        assert_eq!((of("/v1/task"), of("/v1/task?task_id="), of("/v1/task?id=x")), (None, None, None));
    }
}
