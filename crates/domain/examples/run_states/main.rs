//! Prints `docs/reference/run-states.md`: the statuses of runs, the states of steps, and the transitions. The example
//! tries every command in every state that the run machine reaches over small graphs.
//! `cargo run -p xtask -- codegen` writes the page.

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
