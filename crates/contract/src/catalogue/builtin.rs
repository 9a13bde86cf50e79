//! The tools that Charter itself carries out, by name (seed 003, Resource Access). What each takes,
//! answers and is bounded by is with those who carry it out.

use super::vocabulary::ToolClass;
use crate::ids::ToolId;

string_enum! {
    /// A tool that is a part of Charter (this project).
    pub enum Builtin {
        /// Reads a file, or some lines of it.
        FsRead = "fs.read",
        /// Replaces the content of a file.
        FsWrite = "fs.write",
        /// Makes a file.
        FsCreate = "fs.create",
        /// Replaces ranges of lines.
        FsEdit = "fs.edit",
        /// Gives a file or directory another path.
        FsMove = "fs.move",
        /// Copies a file or directory.
        FsCopy = "fs.copy",
        /// Removes a file or directory.
        FsDelete = "fs.delete",
        /// Says what a directory holds.
        FsList = "fs.list",
        /// Finds lines.
        FsSearch = "fs.search",
        /// Says what a file is.
        FsStat = "fs.stat",
        /// Makes a directory.
        FsMakeDirectory = "fs.make_directory",
        /// Reads environment variables.
        EnvGet = "env.get",
        /// Fetches over HTTP.
        NetGet = "net.get",
        /// Sends an HTTP request of any method.
        NetRequest = "net.request",
        /// Searches the web.
        WebSearch = "web.search",
        /// Runs a program.
        CommandRun = "command.run",
        /// Builds a chart.
        Visualise = "visualise",
    }
}

/// What the ids of the built-in tools begin with: the built-in package and a dot.
const PREFIX: &str = "charter.";

impl Builtin {
    /// What it may do, whoever offers it.
    #[must_use]
    pub fn tool_class(self) -> ToolClass {
        match self {
            Self::FsRead
            | Self::FsList
            | Self::FsSearch
            | Self::FsStat
            | Self::EnvGet
            | Self::NetGet
            | Self::WebSearch
            | Self::Visualise => ToolClass::Readonly,
            Self::FsWrite
            | Self::FsCreate
            | Self::FsEdit
            | Self::FsMove
            | Self::FsCopy
            | Self::FsDelete
            | Self::FsMakeDirectory
            | Self::NetRequest
            | Self::CommandRun => ToolClass::Write,
        }
    }

    /// The id of its tool: `charter.fs.read`.
    #[must_use]
    pub fn tool_id(self) -> ToolId {
        ToolId::from_checked(format!("{PREFIX}{self}"))
    }

    /// The one whose tool has this id.
    #[must_use]
    pub fn from_tool_id(tool: &ToolId) -> Option<Self> {
        tool.as_str().strip_prefix(PREFIX)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again_by_its_tool() {
        for builtin in Builtin::ALL {
            assert_eq!(Builtin::from_tool_id(&builtin.tool_id()), Some(*builtin));
        }
        assert_eq!(
            Builtin::from_tool_id(&ToolId::parse("charter.fs.chmod").unwrap()),
            None
        );
        assert_eq!(
            Builtin::from_tool_id(&ToolId::parse("other.fs.read").unwrap()),
            None
        );
    }
}
