//! E-mail over SMTP: a message in plain text and in HTML.

use std::net::IpAddr;

use charter_contract::cause::chain;
use charter_contract::ids::Label;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use super::settings::{ChannelSetupError, EmailOptions, SmtpSecurity};
use super::{ChannelFailure, ChannelFault, ChannelMessage};

/// Keeps other programs from answering (RFC 3834).
const AUTO_SUBMITTED: HeaderName = HeaderName::new_from_ascii_str("Auto-Submitted");

/// A mail server with the sender and the recipients.
#[derive(Debug)]
pub(super) struct Mailer {
    server: String,
    from: Mailbox,
    to: Vec<Mailbox>,
    transport: AsyncSmtpTransport<Tokio1Executor>,
}

impl Mailer {
    /// # Errors
    /// [`ChannelSetupError`] for an address that is none, and for a remote server without TLS.
    pub(super) fn new(name: &Label, options: &EmailOptions) -> Result<Self, ChannelSetupError> {
        let unfit = |setting: &'static str, why: String| ChannelSetupError::Setting {
            channel: name.clone(),
            setting,
            why,
        };
        let mailbox = |setting: &'static str, text: &str| {
            let parsed = text.parse::<Mailbox>();
            parsed
                .map_err(|error| unfit(setting, format!("{text:?}, which is no address: {error}")))
        };
        let to = options.to.iter().map(|text| mailbox("to", text));
        let to = to.collect::<Result<Vec<_>, _>>()?;
        if to.is_empty() {
            return Err(unfit("to", "empty".to_owned()));
        }
        let tls = || {
            let parameters = TlsParameters::new(options.host.clone());
            parameters.map_err(|error| unfit("host", format!("no host for TLS: {error}")))
        };
        let tls = match options.security {
            SmtpSecurity::Tls => Tls::Wrapper(tls()?),
            SmtpSecurity::StartTls => Tls::Required(tls()?),
            SmtpSecurity::None if is_loopback(&options.host) => Tls::None,
            SmtpSecurity::None => return Err(unfit("host", "remote without TLS".to_owned())),
        };
        let mut transport =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(options.host.clone())
                .port(options.port)
                .tls(tls)
                .timeout(Some(options.timeout));
        if let Some((user, password)) = &options.login {
            let login = Credentials::new(user.clone(), password.value().to_owned());
            transport = transport.credentials(login);
        }
        Ok(Self {
            server: format!("{}:{}", options.host, options.port),
            from: mailbox("from", &options.from)?,
            to,
            transport: transport.build(),
        })
    }

    pub(super) fn described(&self) -> String {
        let to: Vec<String> = self.to.iter().map(ToString::to_string).collect();
        format!("e-mail to {} by {}", to.join(", "), self.server)
    }

    /// Sends a message to all recipients, in one transaction.
    pub(super) async fn send(&self, message: &ChannelMessage) -> Result<(), ChannelFailure> {
        let mail = self.mail(message).map_err(|error| {
            let why = format!("the message is no valid e-mail: {}", chain(&error));
            ChannelFailure::new(ChannelFault::Refused, why)
        })?;
        let sent = self.transport.send(mail).await;
        sent.map(|_| ()).map_err(|error| {
            let fault = match error.is_permanent() || error.is_client() {
                true => ChannelFault::Refused,
                false => ChannelFault::Unavailable,
            };
            let why = format!("the mail server {}: {}", self.server, chain(&error));
            ChannelFailure::new(fault, why)
        })
    }

    fn mail(&self, message: &ChannelMessage) -> Result<Message, lettre::error::Error> {
        let content = &message.content;
        // Equal for all attempts, so that a mail program shows a repeat once.
        let id = format!("<{}@{}>", message.id, self.from.email.domain());
        let mut mail = Message::builder()
            .from(self.from.clone())
            .subject(content.one_line())
            .message_id(Some(id))
            .raw_header(HeaderValue::new(
                AUTO_SUBMITTED,
                "auto-generated".to_owned(),
            ));
        for to in &self.to {
            mail = mail.to(to.clone());
        }
        mail.multipart(MultiPart::alternative_plain_html(
            content.plain(),
            content.html(),
        ))
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
