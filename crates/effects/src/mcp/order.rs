//! The request of one call, in the form of the protocol. Must not know the connection that it is sent over.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputResponses, ReadResourceRequest, ReadResourceRequestParams,
};

/// A request that is repeated with the answers to the server's questions.
#[derive(Debug, Clone)]
pub(super) enum ServerOrder {
    Tool(CallToolRequestParams),
    Resource(ReadResourceRequestParams),
    Prompt(GetPromptRequestParams),
}

impl ServerOrder {
    pub(super) fn request(&self) -> ClientRequest {
        match self.clone() {
            Self::Tool(params) => ClientRequest::CallToolRequest(CallToolRequest::new(params)),
            Self::Resource(params) => {
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            Self::Prompt(params) => ClientRequest::GetPromptRequest(GetPromptRequest::new(params)),
        }
    }

    /// Adds the answers to the questions of the last round, and the state that the server asked for.
    pub(super) fn next_round(&mut self, answers: Option<InputResponses>, state: Option<String>) {
        let (own_answers, own_state) = match self {
            Self::Tool(params) => (&mut params.input_responses, &mut params.request_state),
            Self::Resource(params) => (&mut params.input_responses, &mut params.request_state),
            Self::Prompt(params) => (&mut params.input_responses, &mut params.request_state),
        };
        (*own_answers, *own_state) = (answers, state);
    }
}
