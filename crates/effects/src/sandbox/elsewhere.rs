//! The sandbox on systems other than Linux, which never starts: nothing there confines tools. Its types are those of
//! Linux, so that the callers of the sandbox compile without cases for systems.

mod capability;
mod options;
mod server_program;

use std::convert::Infallible;
use std::io;

use async_trait::async_trait;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::call::{ToolCall, ToolRunner};
use crate::egress::LastRefusal;
use crate::extract::Extracted;
use crate::http::HttpRunner;
use crate::outcome::{Failure, ToolOutcome};
use crate::redact::Redactor;
use crate::sources::{Fetched, RawSource, SourceError, SourceRequest, Sources};

pub use capability::{Capability, CapabilityState};
pub use options::{LandlockUse, NamespaceUse, NotificationUse, SandboxError, SandboxOptions};
pub use server_program::ServerHome;
pub(crate) use server_program::ServerProgram;

/// The sandbox of Linux. No value of it exists here.
#[derive(Debug)]
pub struct Sandbox(Infallible);

/// Keeps a process alive. No value of it exists here.
pub(crate) struct Alive(Infallible);

/// A running process.
pub(crate) struct ServerProcess {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) alive: Alive,
    pub(crate) last_refusal: LastRefusal,
}

impl Sandbox {
    /// Starts no sandbox.
    ///
    /// # Errors
    /// Always [`SandboxError::NotLinux`].
    pub async fn new(_options: SandboxOptions) -> Result<Self, SandboxError> {
        Err(SandboxError::NotLinux)
    }

    /// Returns every guarantee, and whether it holds.
    pub async fn capabilities(&self) -> Vec<Capability> {
        match self.0 {}
    }

    pub(crate) fn output_redactor(&self, _secrets: &[(String, String)]) -> Redactor {
        match self.0 {}
    }

    pub(crate) fn http(&self) -> &HttpRunner {
        match self.0 {}
    }

    pub(crate) async fn start_server(
        &self,
        _program: &ServerProgram<'_>,
    ) -> Result<ServerProcess, Failure> {
        match self.0 {}
    }
}

#[async_trait]
impl ToolRunner for Sandbox {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        match self.0 {}
    }
}

#[async_trait]
impl Sources for Sandbox {
    async fn fetch(
        &self,
        _request: &SourceRequest,
        _cancel: &CancellationToken,
    ) -> Result<Fetched, SourceError> {
        match self.0 {}
    }

    async fn extract(
        &self,
        _source: RawSource,
        _cancel: &CancellationToken,
    ) -> Result<Extracted, SourceError> {
        match self.0 {}
    }
}

/// Keeps no process: the sandbox starts none.
///
/// # Errors
/// Always [`io::ErrorKind::Unsupported`].
pub fn keep() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
