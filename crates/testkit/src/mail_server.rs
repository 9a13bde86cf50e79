//! A mail server that speaks SMTP (RFC 5321) and keeps the messages. It knows no extension but 8BITMIME, and no TLS.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// A message that the server accepted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The address of the sender, in angle brackets.
    pub from: String,
    /// The addresses of the recipients, in angle brackets.
    pub to: Vec<String>,
    /// Headers and body, as they were sent, with LF at the end of each line.
    pub text: String,
}

/// The server. Its thread ends with the process.
#[derive(Debug)]
pub struct MailServer {
    port: u16,
    mails: Receiver<Mail>,
}

impl MailServer {
    /// Starts a server on 127.0.0.1, with these replies to commands in place of acceptance.
    ///
    /// # Errors
    /// If no port is free.
    pub fn start(replies: &[(&'static str, &'static str)]) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (accepted, mails) = mpsc::channel();
        let replies = replies.to_vec();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that goes away ends its conversation.
                drop(converse(stream, &replies, &accepted));
            }
        });
        Ok(Self { port, mails })
    }

    /// Returns the listening port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the next message.
    #[must_use]
    pub fn next_within(&self, timeout: Duration) -> Option<Mail> {
        self.mails.recv_timeout(timeout).ok()
    }
}

fn converse(
    stream: TcpStream,
    replies: &[(&'static str, &'static str)],
    accepted: &Sender<Mail>,
) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut lines = BufReader::new(stream).lines();
    writer.write_all(b"220 mail.example.com ESMTP\r\n")?;
    let mut mail = Mail::default();
    while let Some(line) = lines.next() {
        let line = line?;
        let special = replies
            .iter()
            .find(|(command, _)| line.starts_with(command));
        let reply = match special {
            Some((_, reply)) => *reply,
            None if line.starts_with("EHLO") => "250-mail.example.com\r\n250 8BITMIME",
            None if line.starts_with("MAIL FROM:") => {
                mail.from = address(&line);
                "250 ok"
            }
            None if line.starts_with("RCPT TO:") => {
                mail.to.push(address(&line));
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

/// Returns the address of a command: `<ann@example.com>` of `RCPT TO:<ann@example.com> BODY=8BITMIME`.
fn address(command: &str) -> String {
    let (_, path) = command.split_once(':').unwrap_or_default();
    let address = path.split(' ').next().unwrap_or_default();
    address.to_owned()
}
