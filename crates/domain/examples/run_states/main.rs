//! Prints `docs/reference/run-states.md`: where a run and its steps may stand, and what leads from one to the
//! other. The transitions are those that the run machine makes when every command is tried in every
//! state that it comes to over small graphs; `cargo run -p xtask -- codegen` keeps the page.

mod cases;
mod explore;
mod page;

use std::error::Error;

use explore::Observed;

fn main() -> Result<(), Box<dyn Error>> {
    let mut observed = Observed::default();
    for case in cases::all()? {
        explore::explore(case, &mut observed)?;
    }
    print!("{}", page::write(&observed)?);
    Ok(())
}
