//! A mail server that speaks SMTP (RFC 5321) and keeps the messages.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

/// A message that the server accepted.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) text: String,
}

/// The server. Its thread ends with the process.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    mails: mpsc::Receiver<Mail>,
}

impl MailServer {
    /// Starts a server with these replies to commands in place of acceptance.
    pub(crate) fn start(replies: &[(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (accepted, mails) = mpsc::channel();
        let replies = replies.to_vec();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that goes away ends its conversation.
                drop(converse(stream, &replies, &accepted));
            }
        });
        Self { port, mails }
    }

    /// Waits for the next message.
    pub(crate) fn next(&self) -> Mail {
        self.mails.recv_timeout(Duration::from_secs(30)).unwrap()
    }
}

fn converse(
    stream: TcpStream,
    replies: &[(&'static str, &'static str)],
    accepted: &mpsc::Sender<Mail>,
) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut lines = BufReader::new(stream).lines();
    writer.write_all(b"220 mail.example.com ESMTP\r\n")?;
    let mut mail = Mail::default();
    while let Some(line) = lines.next() {
        let line = line?;
        let address = |prefix: &str| {
            line[prefix.len()..]
                .split(' ')
                .next()
                .unwrap_or("")
                .to_owned()
        };
        let special = replies
            .iter()
            .find(|(command, _)| line.starts_with(command));
        let reply = match special {
            Some((_, reply)) => *reply,
            None if line.starts_with("EHLO") => "250-mail.example.com\r\n250 8BITMIME",
            None if line.starts_with("MAIL FROM:") => {
                mail.from = address("MAIL FROM:");
                "250 ok"
            }
            None if line.starts_with("RCPT TO:") => {
                mail.to.push(address("RCPT TO:"));
                "250 ok"
            }
            None if line == "DATA" => {
                writer.write_all(b"354 go on\r\n")?;
                for part in lines.by_ref() {
                    let part = part?;
                    if part == "." {
                        break;
                    }
                    mail.text.push_str(&part);
                    mail.text.push('\n');
                }
                // No test waits for it any more.
                drop(accepted.send(std::mem::take(&mut mail)));
                "250 kept"
            }
            None if line == "QUIT" => "221 bye",
            None => "250 ok",
        };
        writer.write_all(format!("{reply}\r\n").as_bytes())?;
    }
    Ok(())
}
