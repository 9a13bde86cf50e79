//! The marks that every artifact carries: its `schema_name`, one word per type, and
//! the version of its form (002 §2.1; ruling 24: this family's own version type).

string_enum! {
    /// The version of an artifact's form. One that is not known is refused, never
    /// read as another (B002-1).
    #[derive(Default)]
    pub enum MissionSchemaVersion {
        /// The first.
        #[default]
        V1 = "v1",
    }
}

/// Declares the type whose only value is one `schema_name`.
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
