//! Builds the crate again when the console was built again.

fn main() {
    println!("cargo::rerun-if-changed=../../console/dist");
}
