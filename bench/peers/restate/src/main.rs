//! Restate's side of `bench/steps.py`: a service whose handler takes durable steps that do nothing,
//! and the client that invokes it through the ingress.
//!
//! `restate-steps serve PORT` serves until it is interrupted. `restate-steps drive INGRESS_PORT` reads
//! scenarios from standard input and answers each with its figures; see `bench/steps.py` for both.

mod drive;

use std::net::{Ipv4Addr, SocketAddr};

use restate_sdk::prelude::*;

/// The service.
struct Steps;

#[service]
impl Steps {
    /// Takes durable steps one after the other; each is in Restate's journal before the next starts.
    #[handler]
    async fn take(&self, context: Context<'_>, steps: u32) -> Result<u32, TerminalError> {
        for _ in 0..steps {
            context.run(|| async { Ok(()) }).await?;
        }
        Ok(steps)
    }
}

#[tokio::main]
async fn main() -> Result<(), drive::Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mode, port) = match arguments.as_slice() {
        [mode, port] => (mode.as_str(), port.parse()?),
        _ => return Err("usage: restate-steps serve|drive PORT".into()),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match mode {
        "serve" => {
            let endpoint = Endpoint::builder().bind(Steps).build();
            HttpServer::new(endpoint).listen_and_serve(address).await;
            Ok(())
        }
        "drive" => drive::scenarios(address).await,
        other => Err(format!("`{other}` is neither `serve` nor `drive`").into()),
    }
}
