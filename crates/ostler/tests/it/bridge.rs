//! The bridge contract: real servers, fake children, clients that know nothing of ostler.

mod cancels;
mod contract;
mod crashes;
mod flows;
pub(super) mod http;
mod safety;
mod sessions;
pub(super) mod shop;
mod streams;
mod verbs;
