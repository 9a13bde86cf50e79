//! The processes of this binary that the sandbox starts, one file each: an argument makes the binary one of them. They read
//! no configuration and must not know the commands.

pub(crate) mod extract;
pub(crate) mod filter;
pub(crate) mod keep;
pub(crate) mod render;
