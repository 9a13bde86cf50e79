//! The fields that identify the form of an artifact: its `schema_name`, one constant per type, and the version of the
//! form (002 §2.1; ruling 24: this family's own version type).

string_enum! {
    /// Version of an artifact's form. An unknown version is refused, never read as another (B002-1).
    #[derive(Default)]
    pub enum MissionSchemaVersion {
        /// The first version.
        #[default]
        V1 = "v1",
    }
}

/// Declares a type whose only value is one `schema_name`.
macro_rules! schema_tag {
    ($name:ident = $text:literal) => {
        string_enum! {
            /// The `schema_name` of this artifact.
            #[derive(Default)]
            pub enum $name {
                /// The only value.
                #[default]
                Name = $text,
            }
        }
    };
}

pub(super) use schema_tag;
