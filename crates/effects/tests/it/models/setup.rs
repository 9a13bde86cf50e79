//! Invalid configurations that are refused before any request.

use std::collections::BTreeMap;

use charter_contract::error_code::ErrorCode;
use charter_effects::{
    ModelApi, ModelFault, ModelOptions, ModelProviders, Models, NoModels, PlainHttp,
    ProviderOptions, Secret, SecretSource, StructuredOutput, TenantModels,
};
use charter_testkit::http_stub::HttpStub;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{ask, lab, label, options, provider, request};

fn refused(change: impl FnOnce(&mut ModelOptions)) -> Option<String> {
    let provider = ProviderOptions::new(ModelApi::OpenAi, "https://models.example.com/v1");
    let mut options = options(provider);
    change(&mut options);
    ModelProviders::new(options)
        .err()
        .map(|error| error.to_string())
}

fn with_base(url: &str, plain_http: PlainHttp) -> Option<String> {
    refused(|options| {
        lab(options).base_url = url.to_owned();
        lab(options).plain_http = plain_http;
    })
}

#[test]
fn a_remote_provider_without_tls_needs_explicit_permission() {
    let loopback = PlainHttp::Loopback;
    for url in [
        "https://models.example.com/v1",
        "http://localhost:8080/v1",
        "http://127.0.0.1:8080/v1/",
        "http://[::1]:8080",
    ] {
        assert_eq!(with_base(url, loopback), None, "{url}");
    }
    let inside = "http://10.0.0.1:8080/v1";
    assert_eq!(with_base(inside, PlainHttp::Anywhere), None);
    let said = |why: &str| Some(format!("the base URL of the provider `lab` is {why}"));
    for url in [
        inside,
        "http://models.example.com",
        "http://localhost.example.com",
    ] {
        assert_eq!(
            with_base(url, loopback),
            said("remote without TLS"),
            "{url}"
        );
    }
    assert_eq!(with_base("models.example.com", loopback), said("not a URL"));
    assert_eq!(
        with_base("ftp://localhost/", loopback),
        said("neither https nor http")
    );
    let with_user = "https://user:secret@models.example.com";
    assert_eq!(
        with_base(with_user, loopback),
        said("a URL with a user or password")
    );
    let with_query = "https://models.example.com/v1?key=secret";
    assert_eq!(
        with_base(with_query, loopback),
        said("a URL with a query or fragment")
    );
}

#[test]
fn invalid_configuration_is_refused_with_its_key() {
    let key = |value: &str| Secret::new(value, SecretSource::Variable("K".to_owned()));
    assert_eq!(
        refused(|options| lab(options).concurrency = 0),
        Some("the provider `lab`: `concurrency` must be more than 0".to_owned())
    );
    assert_eq!(
        refused(|options| {
            lab(options).api = ModelApi::Anthropic;
            lab(options).structured = StructuredOutput::JsonObject;
        }),
        Some("the provider `lab`: Anthropic's API has no `json_object`".to_owned())
    );
    let unfit =
        "a key of the provider `lab` is empty or has a character that is invalid in headers";
    assert_eq!(
        refused(|options| lab(options).key = Some(key("a\nb"))),
        Some(unfit.to_owned())
    );
    assert_eq!(
        refused(|options| {
            options
                .routes
                .insert(label("deep"), "other/model".parse().unwrap());
        }),
        Some("the route `deep` uses the provider `other`, which is not configured".to_owned())
    );
    let own = TenantModels {
        keys: BTreeMap::from([(label("other"), key("k"))]),
        ..TenantModels::default()
    };
    assert_eq!(
        refused(|options| {
            options.tenants.insert("acme".parse().unwrap(), own);
        }),
        Some(
            "the tenant `acme` has a key for the provider `other`, which is not configured"
                .to_owned()
        )
    );
}

#[tokio::test]
async fn an_unresolvable_route_is_refused_without_a_request() {
    let server = HttpStub::answering(Vec::new()).unwrap();
    let models = ModelProviders::new(options(provider(ModelApi::OpenAi, &server))).unwrap();
    let mut request = request();
    request.route = label("tier_unheard_of");
    let answer = models.complete(&request, &CancellationToken::new()).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.fault, ModelFault::UnknownRoute);
    assert_eq!(failure.message, "the route `tier_unheard_of` has no model");
    assert_eq!(server.seen().len(), 0);

    let failure = ask(&NoModels).await.unwrap_err();
    assert_eq!(failure.code(), ErrorCode::ModelRouteUnknown);
    assert_eq!(
        failure.message,
        "the route `tier_fast` has no model: no models are configured (`models` in the configuration)"
    );
}

#[tokio::test]
async fn an_invalid_schema_is_refused_without_a_request() {
    let server = HttpStub::answering(Vec::new()).unwrap();
    let models = ModelProviders::new(options(provider(ModelApi::OpenAi, &server))).unwrap();
    let mut request = request();
    let mut schema = request.schema.schema.json().clone();
    schema.insert("type".to_owned(), json!("thing"));
    request.schema.schema = schema.into();
    let answer = models.complete(&request, &CancellationToken::new()).await;
    let failure = answer.unwrap_err();
    assert_eq!((failure.fault, failure.attempts), (ModelFault::System, 0));
    assert_eq!(failure.code(), ErrorCode::Internal);
    assert_eq!(server.seen().len(), 0);
}
