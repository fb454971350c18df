//! Fake children: a `claude` that plays a script or a recorded session.
