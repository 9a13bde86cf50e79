//! Messages of the outbox.

use charter_store::StoreError;
use charter_store::outbox::{Message, NewMessage};

use crate::column;
use crate::row::{Columns, field};

/// Reads `message_id, topic, tenant_id, at, payload, user_id`.
pub(crate) fn message(row: &dyn Columns) -> Result<Message, StoreError> {
    Ok(Message {
        id: column::parse_integer("message id", field(row, 0)?)?,
        message: NewMessage {
            topic: field(row, 1)?,
            tenant: field(row, 2)?,
            at: column::parse_micros(field(row, 3)?)?,
            payload: field(row, 4)?,
            user_id: match field::<Option<&str>>(row, 5)? {
                Some(user) => column::parse_user(user)?,
                None => None,
            },
        },
    })
}
