//! The built-in tools, by name (seed 003, Resource Access). Their parameters, results and limits are defined with
//! their implementation.

use super::vocabulary::ToolClass;
use crate::ids::ToolId;

string_enum! {
    /// A tool that is built into Charter (this project).
    pub enum Builtin {
        /// Reads a file, or some of its lines.
        FsRead = "fs.read",
        /// Replaces the content of a file.
        FsWrite = "fs.write",
        /// Creates a file.
        FsCreate = "fs.create",
        /// Replaces ranges of lines.
        FsEdit = "fs.edit",
        /// Moves a file or directory.
        FsMove = "fs.move",
        /// Copies a file or directory.
        FsCopy = "fs.copy",
        /// Deletes a file or directory.
        FsDelete = "fs.delete",
        /// Lists the entries of a directory.
        FsList = "fs.list",
        /// Finds matching lines.
        FsSearch = "fs.search",
        /// Returns the kind, size and times of a file.
        FsStat = "fs.stat",
        /// Creates a directory.
        FsMakeDirectory = "fs.make_directory",
        /// Reads environment variables.
        EnvGet = "env.get",
        /// Fetches a URL over HTTP.
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

/// Prefix of the built-in tools' ids: the built-in package and a dot.
const PREFIX: &str = "charter.";

impl Builtin {
    /// Returns the class of the tool, which no document can change.
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

    /// Returns the id of the tool: `charter.fs.read`.
    #[must_use]
    pub fn tool_id(self) -> ToolId {
        ToolId::from_checked(format!("{PREFIX}{self}"))
    }

    /// Returns the built-in tool with this id.
    #[must_use]
    pub fn from_tool_id(tool: &ToolId) -> Option<Self> {
        tool.as_str().strip_prefix(PREFIX)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_name_maps_to_its_tool_and_back() {
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
