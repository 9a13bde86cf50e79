//! The credentials of the configuration that the tools of an import send.

use std::str::FromStr;

use charter_contract::ids::Label;

use crate::api::{Api, Credential, CredentialUse};
use crate::text::variable_name;

/// Longest name of a variable, in bytes.
const MAX_VARIABLE: usize = 100;

/// A credential of the configuration for tools: `VARIABLE=NAME`, or `NAME` for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialChoice {
    /// It has the value of one variable.
    Variable {
        /// The variable, as the page of grants names it.
        variable: String,
        /// Name of the credential.
        name: Label,
    },
    /// It has the value of the only variable that operations need. If they need none, every tool sends it.
    AllTools(Label),
}

impl FromStr for CredentialChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str| Label::parse(name).map_err(|error| error.to_string());
        Ok(match text.split_once('=') {
            Some((variable, name)) => Self::Variable {
                variable: variable.to_owned(),
                name: named(name)?,
            },
            None => Self::AllTools(named(text)?),
        })
    }
}

/// The reason why a choice of a credential does not fit an API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialChoiceError {
    /// No operation needs the variable.
    #[error("no operation needs the variable `{variable}`; they need: {needed}")]
    UnknownVariable {
        /// The variable.
        variable: String,
        /// The variables that operations need.
        needed: String,
    },
    /// One credential cannot have the values of several variables.
    #[error("the tools send several credentials: {variables}; name each one: VARIABLE=NAME")]
    SeveralVariables {
        /// The variables without a credential.
        variables: String,
    },
    /// No variable is left for the credential of all tools.
    #[error("no tool sends the credential `{name}`, because each variable has another one")]
    NoVariable {
        /// The credential.
        name: Label,
    },
}

/// Lets tools send credentials of the configuration. The credential of all tools has the value of the one variable
/// that operations need. If they need none, each sends it as the only scheme of the document describes, or else as a
/// bearer token.
///
/// # Errors
/// [`CredentialChoiceError`]: a choice does not fit the API.
pub fn choose(
    api: &mut Api,
    prefix: &str,
    choices: &[CredentialChoice],
) -> Result<(), CredentialChoiceError> {
    for choice in choices {
        let CredentialChoice::Variable { variable, name } = choice else {
            continue;
        };
        let needed = joined(api.credentials.keys());
        let Some(credential) = api.credentials.get_mut(variable) else {
            return Err(CredentialChoiceError::UnknownVariable {
                variable: variable.clone(),
                needed,
            });
        };
        credential.named = Some(name.to_string());
    }
    for choice in choices {
        if let CredentialChoice::AllTools(name) = choice {
            choose_for_all(api, prefix, name)?;
        }
    }
    Ok(())
}

fn choose_for_all(api: &mut Api, prefix: &str, name: &Label) -> Result<(), CredentialChoiceError> {
    if api.credentials.is_empty() {
        let (variable, credential) = undeclared(api, prefix);
        for operation in &mut api.operations {
            operation.credentials.push(variable.clone());
        }
        api.unused_credentials.remove(&variable);
        api.credentials.insert(variable, credential);
    }
    let mut unnamed: Vec<(&String, &mut Credential)> = api
        .credentials
        .iter_mut()
        .filter(|(_, credential)| credential.named.is_none())
        .collect();
    match unnamed.as_mut_slice() {
        [] => Err(CredentialChoiceError::NoVariable { name: name.clone() }),
        [(_, credential)] => {
            credential.named = Some(name.to_string());
            Ok(())
        }
        several => Err(CredentialChoiceError::SeveralVariables {
            variables: joined(several.iter().map(|(variable, _)| *variable)),
        }),
    }
}

/// Returns the variable and the credential of operations that declare none.
fn undeclared(api: &Api, prefix: &str) -> (String, Credential) {
    let mut declared = api.unused_credentials.iter();
    if let (Some((variable, credential)), None) = (declared.next(), declared.next()) {
        return (variable.clone(), credential.clone());
    }
    let variable = variable_name(&format!("{prefix} token"), MAX_VARIABLE);
    let credential = Credential {
        scheme: String::new(),
        expected: "a bearer token".to_owned(),
        sent: CredentialUse::Header {
            name: "authorization".to_owned(),
            prefix: "Bearer ",
        },
        named: None,
    };
    (variable, credential)
}

fn joined<'n>(names: impl Iterator<Item = &'n String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::sample::{api, operation};

    fn chosen(api: &mut Api, choices: &[&str]) -> Result<(), CredentialChoiceError> {
        let choices: Vec<CredentialChoice> =
            choices.iter().map(|text| text.parse().unwrap()).collect();
        choose(api, "pets", &choices)
    }

    fn key(scheme: &str) -> Credential {
        Credential {
            scheme: scheme.to_owned(),
            expected: "an API key".to_owned(),
            sent: CredentialUse::Header {
                name: "x-key".to_owned(),
                prefix: "",
            },
            named: None,
        }
    }

    /// An API whose only operation needs variables.
    fn needing(variables: &[&str]) -> Api {
        let mut read = operation("GET", "/pets", None);
        read.credentials = variables.iter().map(|name| (*name).to_owned()).collect();
        let mut api = api(vec![read]);
        for variable in variables {
            api.credentials.insert((*variable).to_owned(), key("key"));
        }
        api
    }

    #[test]
    fn a_document_without_schemes_sends_the_credential_of_all_tools_as_a_bearer_token() {
        let mut api = needing(&[]);
        chosen(&mut api, &["github"]).unwrap();
        assert_eq!(api.operations[0].credentials, ["PETS_TOKEN"]);
        let credential = &api.credentials["PETS_TOKEN"];
        assert_eq!(credential.named.as_deref(), Some("github"));
        let bearer = CredentialUse::Header {
            name: "authorization".to_owned(),
            prefix: "Bearer ",
        };
        assert_eq!(credential.sent, bearer);
    }

    #[test]
    fn the_credential_of_all_tools_is_sent_as_the_only_scheme_describes() {
        let mut api = needing(&["PETS_KEY"]);
        chosen(&mut api, &["shop"]).unwrap();
        assert_eq!(api.credentials["PETS_KEY"].named.as_deref(), Some("shop"));
        assert_eq!(api.operations[0].credentials, ["PETS_KEY"]);

        let mut api = needing(&[]);
        api.unused_credentials
            .insert("PETS_KEY".to_owned(), key("key"));
        chosen(&mut api, &["shop"]).unwrap();
        assert_eq!(api.operations[0].credentials, ["PETS_KEY"]);
        assert_eq!(api.credentials["PETS_KEY"].named.as_deref(), Some("shop"));
        assert!(api.unused_credentials.is_empty());
    }

    #[test]
    fn choices_that_fit_no_variable_are_refused() {
        for (needed, choices, expected) in [
            (
                &["A", "B"][..],
                &["shop"][..],
                "the tools send several credentials: A, B; name each one: VARIABLE=NAME",
            ),
            (
                &["A"],
                &["C=shop"],
                "no operation needs the variable `C`; they need: A",
            ),
            (
                &["A"],
                &["A=shop", "tracker"],
                "no tool sends the credential `tracker`, because each variable has another one",
            ),
        ] {
            let refused = chosen(&mut needing(needed), choices).unwrap_err();
            assert_eq!(refused.to_string(), expected);
        }
        let mut both = needing(&["A", "B"]);
        chosen(&mut both, &["tracker", "A=shop"]).unwrap();
        assert_eq!(both.credentials["A"].named.as_deref(), Some("shop"));
        assert_eq!(both.credentials["B"].named.as_deref(), Some("tracker"));
        assert!("A=no name".parse::<CredentialChoice>().is_err());
    }
}
