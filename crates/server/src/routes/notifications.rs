//! Notifications, their channels, and the decisions that come back from Slack. The signature of Slack's app is the
//! credential of an interaction, so its operation needs no other.

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderMap;
use charter_contract::bounds::SLACK_INTERACTION_BYTES;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::Label;
use charter_contract::page::PageRequest;
use charter_engine::{
    ChannelTest, ChannelView, EngineError, NotificationPage, SlackDecision, SlackRequest,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

/// The headers of a request that Slack signed.
const TIMESTAMP: &str = "x-slack-request-timestamp";
const SIGNATURE: &str = "x-slack-signature";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NotificationQuery {
    /// `pending`, `delivered`, `skipped` or `failed`; every state when absent.
    state: Option<String>,
    /// Only notifications of this channel.
    channel: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List notifications, newest first: what was sent to channels, what waits, and what failed; for admins.
#[utoipa::path(get, path = "/v1/notifications", tag = "notifications", operation_id = "list_notifications", params(NotificationQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/notification_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<NotificationQuery>,
) -> Result<Json<NotificationPage>, ApiError> {
    let channel: Option<Label> = asked.channel.as_deref().map(parsed).transpose()?;
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let notifications = state.engine.notifications();
    let found = notifications
        .list(&caller, asked.state.as_deref(), channel.as_ref(), &page)
        .await?;
    Ok(Json(found))
}

/// List the channels of the tenant, with the topics that rules send to them; for admins.
#[utoipa::path(get, path = "/v1/notifications/channels", tag = "notifications", operation_id = "list_notification_channels",
    responses((status = 200, description = "The channels", body = ref("#/components/schemas/channel_list"))))]
pub(crate) async fn channels(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Vec<ChannelView>>, ApiError> {
    Ok(Json(state.engine.notifications().channels(&caller)?))
}

/// Send a test message to a channel at once; for admins. The answer says whether the channel accepted it.
#[utoipa::path(post, path = "/v1/notifications/channels/{name}/test", tag = "notifications", operation_id = "test_notification_channel",
    params(("name" = String, Path, description = "Name of the channel")),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/channel_test"))))]
pub(crate) async fn test(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
) -> Result<Json<ChannelTest>, ApiError> {
    let name: Label = parsed(&name)?;
    let tested = state.engine.notifications().test(&caller, &name);
    Ok(Json(tested.await?))
}

/// The headers and the body of a request from Slack, as it was sent: its signature is over the bytes.
pub(crate) struct SignedForm {
    timestamp: String,
    signature: String,
    body: Vec<u8>,
}

impl FromRequest<AppState> for SignedForm {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let (timestamp, signature) = (
            header(&head.headers, TIMESTAMP)?,
            header(&head.headers, SIGNATURE)?,
        );
        let body = to_bytes(body, SLACK_INTERACTION_BYTES).await;
        let body = body.map_err(|error| {
            let message =
                format!("the body is larger than {SLACK_INTERACTION_BYTES} bytes, or broke off");
            EngineError::new(ErrorCode::TooLarge, message).caused_by(error)
        })?;
        Ok(Self {
            timestamp,
            signature,
            body: body.to_vec(),
        })
    }
}

/// Reads a header that every request from Slack has.
fn header(headers: &HeaderMap, name: &str) -> Result<String, EngineError> {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.map(str::to_owned).ok_or_else(|| {
        let message = format!("only Slack sends this request; it has no header `{name}`");
        EngineError::new(ErrorCode::Unauthenticated, message)
    })
}

/// Take an interaction of Slack: the request URL of its app. The button of an approval decides on it, as the identity
/// that the configuration gives to the Slack user.
#[utoipa::path(post, path = "/v1/slack/interactions", tag = "notifications", operation_id = "decide_in_slack",
    params(
        ("X-Slack-Request-Timestamp" = String, Header, description = "Seconds since 1970; at most five minutes old"),
        ("X-Slack-Signature" = String, Header, description = "`v0=` and the HMAC-SHA256 of the request by the app's signing secret"),
    ),
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The approval's state", body = ref("#/components/schemas/slack_decision")), (status = 401, description = "No configured app signed it, or it is old", body = ref("#/components/schemas/agent_error")), (status = 403, description = "The Slack user may not decide on it there", body = ref("#/components/schemas/agent_error")), (status = 409, description = "It was received before, or the approval is already decided", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn decide_in_slack(
    State(state): State<AppState>,
    form: SignedForm,
) -> Result<Json<SlackDecision>, ApiError> {
    let request = SlackRequest {
        timestamp: &form.timestamp,
        signature: &form.signature,
        body: &form.body,
    };
    let decided = state.engine.notifications().decide_in_slack(request);
    Ok(Json(decided.await?))
}
