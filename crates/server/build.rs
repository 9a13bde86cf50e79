//! Rebuilds the crate after the console has been rebuilt.

fn main() {
    println!("cargo::rerun-if-changed=../../console/dist");
}
