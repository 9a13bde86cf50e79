//! Credentials: security schemes and the requirements of operations. A credential is a variable that the operator sets
//! and grants; no value of one is ever read here.

use std::collections::BTreeMap;

use super::Dialect;
use crate::api::{Credential, CredentialUse};
use crate::documents::{DocumentSet, Part};
use crate::text::{shortened, snake};

/// Longest name of a variable, in bytes.
const MAX_VARIABLE: usize = 100;

/// The schemes of a document that calls can express, by name, with their variables.
#[derive(Debug, Default)]
pub(super) struct SecuritySchemes {
    by_name: BTreeMap<String, SchemeSupport>,
}

/// How calls can express a scheme.
#[derive(Debug)]
enum SchemeSupport {
    /// By a credential in a variable.
    Variable {
        variable: String,
        credential: Credential,
    },
    /// Not at all, for a reason.
    None(String),
}

/// The credentials of one operation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OperationCredentials {
    pub(super) variables: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl SecuritySchemes {
    pub(super) fn read(documents: &DocumentSet, dialect: Dialect, prefix: &str) -> Self {
        let root = documents.root();
        let schemes = match dialect {
            Dialect::Swagger2 => root.member("securityDefinitions"),
            Dialect::OpenApi3 => root
                .member("components")
                .and_then(|components| components.member("securitySchemes")),
        };
        let mut by_name = BTreeMap::new();
        let mut known: Vec<String> = Vec::new();
        for (name, scheme) in schemes.into_iter().flat_map(Part::members) {
            let support = match documents.follow(scheme) {
                Ok(scheme) => support(name, scheme, variable(prefix, name, &known)),
                Err(error) => SchemeSupport::None(error.to_string()),
            };
            if let SchemeSupport::Variable { variable, .. } = &support {
                known.push(variable.clone());
            }
            by_name.insert(name.to_owned(), support);
        }
        Self { by_name }
    }

    /// Returns the credential of a variable.
    pub(super) fn credential(&self, wanted: &str) -> Option<&Credential> {
        self.by_name.values().find_map(|support| match support {
            SchemeSupport::Variable {
                variable,
                credential,
            } if variable == wanted => Some(credential),
            SchemeSupport::Variable { .. } | SchemeSupport::None(_) => None,
        })
    }

    /// Returns the credentials of an operation: those of the first of its alternatives that calls can express.
    pub(super) fn of_operation(&self, root: Part<'_>, operation: Part<'_>) -> OperationCredentials {
        let required = operation.member("security").or(root.member("security"));
        let alternatives: Vec<Part<'_>> = required.into_iter().flat_map(Part::items).collect();
        let mut notes = Vec::new();
        for alternative in &alternatives {
            match self.variables(*alternative) {
                Ok(variables) => {
                    return OperationCredentials {
                        variables,
                        notes: Vec::new(),
                    };
                }
                Err(reason) => notes.push(reason),
            }
        }
        notes.dedup();
        OperationCredentials {
            variables: Vec::new(),
            notes,
        }
    }

    fn variables(&self, alternative: Part<'_>) -> Result<Vec<String>, String> {
        let mut variables = Vec::new();
        for (name, _) in alternative.members() {
            match self.by_name.get(name) {
                Some(SchemeSupport::Variable { variable, .. }) => variables.push(variable.clone()),
                Some(SchemeSupport::None(reason)) => {
                    let name = shortened(name, 80);
                    return Err(format!("calls cannot authenticate by `{name}`: {reason}"));
                }
                None => {
                    let name = shortened(name, 80);
                    return Err(format!("the security scheme `{name}` is not defined"));
                }
            }
        }
        Ok(variables)
    }
}

/// Returns the name of a scheme's variable, which no other scheme has.
fn variable(prefix: &str, scheme: &str, known: &[String]) -> String {
    let name = snake(&format!("{prefix} {scheme}"), MAX_VARIABLE);
    let mut name = name.to_ascii_uppercase();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "API_");
    }
    let base = name.clone();
    let mut number = 2;
    while known.contains(&name) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

fn support(name: &str, scheme: Part<'_>, variable: String) -> SchemeSupport {
    let kind = scheme.text("type");
    let bearer = |expected: &str| {
        let sent = CredentialUse::Header {
            name: "authorization".to_owned(),
            prefix: "Bearer ",
        };
        (expected.to_owned(), sent)
    };
    let basic = || {
        let sent = CredentialUse::Header {
            name: "authorization".to_owned(),
            prefix: "Basic ",
        };
        ("`user:password` in base64".to_owned(), sent)
    };
    let (expected, sent) = match kind {
        "basic" => basic(),
        "http" => match scheme.text("scheme").to_ascii_lowercase().as_str() {
            "basic" => basic(),
            "bearer" => bearer("a bearer token"),
            other => {
                let other = shortened(other, 40);
                return SchemeSupport::None(format!("the HTTP scheme `{other}` is not supported"));
            }
        },
        "oauth2" => bearer("an OAuth 2.0 access token"),
        "openIdConnect" => bearer("an access token of the OpenID provider"),
        "apiKey" => {
            let key = scheme.text("name").to_owned();
            if !is_token(&key) {
                return SchemeSupport::None("its parameter has no usable name".to_owned());
            }
            let sent = match scheme.text("in") {
                "header" => CredentialUse::Header {
                    name: key,
                    prefix: "",
                },
                "query" => CredentialUse::Query { name: key },
                "cookie" => CredentialUse::Cookie { name: key },
                _ => return SchemeSupport::None("it is in no header, query or cookie".to_owned()),
            };
            ("an API key".to_owned(), sent)
        }
        other => {
            let other = shortened(other, 40);
            return SchemeSupport::None(format!("its type `{other}` is not supported"));
        }
    };
    if let CredentialUse::Header { name, .. } = &sent
        && charter_contract::http_header::is_of_client(name)
    {
        return SchemeSupport::None(format!("a tool cannot set the header `{name}`"));
    }
    SchemeSupport::Variable {
        variable,
        credential: Credential {
            named: None,
            scheme: shortened(name, 80),
            expected,
            sent,
        },
    }
}

/// Whether a name can be that of a header or cookie (RFC 9110, section 5.6.2).
pub(super) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 200
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
        && !name.contains("${")
}
