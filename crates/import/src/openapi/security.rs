//! Credentials: security schemes and the requirements of operations. A credential is a variable that the operator sets
//! and grants; no value of one is ever read here.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::TOOL_CREDENTIALS;

use super::Dialect;
use crate::api::{Credential, CredentialUse};
use crate::documents::{DocumentSet, Part};
use crate::text::{shortened, variable_name};

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
        let mut names = VariableNames::default();
        for (name, scheme) in schemes.into_iter().flat_map(Part::members) {
            let support = match documents.follow(scheme) {
                Ok(scheme) => support(name, scheme, names.free(prefix, name)),
                Err(error) => SchemeSupport::None(error.to_string()),
            };
            if let SchemeSupport::Variable { variable, .. } = &support {
                names.taken.insert(variable.clone());
            }
            by_name.insert(name.to_owned(), support);
        }
        Self { by_name }
    }

    /// Returns the credentials, each with its variable.
    pub(super) fn credentials(&self) -> impl Iterator<Item = (&String, &Credential)> {
        self.by_name.values().filter_map(|support| match support {
            SchemeSupport::Variable {
                variable,
                credential,
            } => Some((variable, credential)),
            SchemeSupport::None(_) => None,
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
        let count = alternative.members().count();
        if count > TOOL_CREDENTIALS {
            return Err(format!(
                "calls cannot authenticate by {count} schemes together; the limit TOOL_CREDENTIALS is {TOOL_CREDENTIALS}"
            ));
        }
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

/// The names of variables.
#[derive(Debug, Default)]
struct VariableNames {
    taken: BTreeSet<String>,
    /// The number from which a name may be free, by the name without a number.
    numbers: BTreeMap<String, usize>,
}

impl VariableNames {
    /// Returns the name of a scheme's variable, which no other scheme has.
    fn free(&mut self, prefix: &str, scheme: &str) -> String {
        let base = variable_name(&format!("{prefix} {scheme}"), MAX_VARIABLE);
        if !self.taken.contains(&base) {
            return base;
        }
        let number = self.numbers.entry(base.clone()).or_insert(2);
        loop {
            let name = format!("{base}_{number}");
            if !self.taken.contains(&name) {
                return name;
            }
            *number += 1;
        }
    }
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
