//! The conversation on a terminal: shows each decision that waits, and asks. The digest of what is shown is bound to the
//! answer, so that nothing else is approved.

use std::io::{BufRead, IsTerminal};

use anyhow::Context;
use serde_json::Value;

use super::card::{self, Extent};
use super::find::{self, Decision};
use super::queue::{self, QueueFilter, Waiting};
use super::{Choice, Verdict, Word, decide};
use crate::client::Client;
use crate::failure::{self, EXIT_OK, EXIT_WAITING};
use crate::output::{self, Format};
use crate::screen;

/// The kind of a rule that asks whether to repeat an interrupted call.
const INTERRUPTED: &str = "interrupted";

/// A person's reply to a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Approve,
    /// The decision stays open.
    Leave,
    Reject,
    Details,
    Quit,
}

impl Reply {
    /// Reads a reply; `None` for another word. Only `y` and `yes` approve.
    fn parse(line: &str) -> Option<Self> {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(Self::Approve),
            "" | "n" | "no" => Some(Self::Leave),
            "r" | "reject" => Some(Self::Reject),
            "d" | "details" => Some(Self::Details),
            "q" | "quit" => Some(Self::Quit),
            _ => None,
        }
    }
}

/// The answer to a card: a verdict, or none.
#[derive(Debug, Clone, PartialEq)]
enum Answered {
    Decided(Verdict),
    Left,
    Quit,
}

/// A conversation with a person.
pub(super) struct Dialogue<R> {
    input: R,
}

impl Dialogue<()> {
    /// Whether a person can be asked: standard input and output are a terminal, and the output is for people.
    pub(super) fn is_possible(format: Format) -> bool {
        format == Format::Table && std::io::stdin().is_terminal() && screen::is_terminal()
    }
}

impl<R: BufRead> Dialogue<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input }
    }

    /// Asks for a line; `None` at the end of the input.
    fn ask(&mut self, question: &str) -> anyhow::Result<Option<String>> {
        output::write(question.as_bytes())?;
        let mut line = String::new();
        let read = self.input.read_line(&mut line);
        if read.context("reading the answer")? == 0 {
            output::line("")?;
            return Ok(None);
        }
        Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Asks once more about a word that a command gave; `None` unless the person agrees.
    pub(super) fn confirm(
        &mut self,
        found: &Decision,
        word: Word,
        reason: Option<String>,
    ) -> anyhow::Result<Option<Verdict>> {
        let question = match word {
            Word::Approve(_) => "Approve exactly this? [y/N] ",
            Word::Reject => "Reject this? [y/N] ",
            Word::Report(_) => "Record that this has already happened? [y/N] ",
        };
        let reply = self.ask(question)?;
        if reply.as_deref().and_then(Reply::parse) != Some(Reply::Approve) {
            return Ok(None);
        }
        self.verdict(found, word, reason).map(Some)
    }

    /// Asks for the number of calls that the list of a destructive playbook requires, unless it is given.
    fn counted(&mut self, found: &Decision, choice: Choice) -> anyhow::Result<Choice> {
        let Decision::Approval(approval) = found else {
            return Ok(choice);
        };
        let calls = approval["list"].as_array().map_or(0, Vec::len);
        if approval["destructive"] != true || calls < 2 || choice.count.is_some() {
            return Ok(choice);
        }
        let question =
            "These changes cannot be undone. Type the number of calls that you approve: ";
        let typed = self.ask(question)?;
        let count = typed.and_then(|typed| typed.trim().parse().ok());
        Ok(Choice { count, ..choice })
    }

    /// Binds a word to the digest that was shown, with the text that a destructive plan asks for, or the number that a
    /// destructive list does.
    fn verdict(
        &mut self,
        found: &Decision,
        word: Word,
        reason: Option<String>,
    ) -> anyhow::Result<Verdict> {
        let typed = match (found, &word) {
            (Decision::Confirmation(run), Word::Approve(_)) => match run["typed"].as_str() {
                Some(name) => self.ask(&format!("Type the value of `{name}` to confirm: "))?,
                None => None,
            },
            (Decision::Confirmation(_) | Decision::Approval(_), _) => None,
        };
        let word = match word {
            Word::Approve(choice) => Word::Approve(self.counted(found, choice)?),
            Word::Reject | Word::Report(_) => word,
        };
        Ok(Verdict {
            word,
            digest: found.digest().to_owned(),
            reason,
            typed,
        })
    }

    /// Asks about a card until the person decides, leaves or quits.
    fn answer(&mut self, found: &Decision, preview: &Value) -> anyhow::Result<Answered> {
        let (verb, may) = match found {
            Decision::Approval(approval) => ("Approve", approval["can_approve"] == true),
            Decision::Confirmation(_) => ("Confirm", true),
        };
        if !may {
            output::line("You may not approve this: another person has to.")?;
        }
        let choices = match may {
            true => format!("{verb}? [y/N/details/reject/quit] "),
            false => "Leave it? [N/details/reject/quit] ".to_owned(),
        };
        loop {
            let Some(line) = self.ask(&choices)? else {
                return Ok(Answered::Quit);
            };
            match Reply::parse(&line) {
                Some(Reply::Approve) if may => {
                    let verdict = self.verdict(found, Word::Approve(Choice::default()), None)?;
                    return Ok(Answered::Decided(verdict));
                }
                Some(Reply::Reject) => {
                    let reason = self.ask("Reason: ")?.filter(|reason| !reason.is_empty());
                    let verdict = self.verdict(found, Word::Reject, reason)?;
                    return Ok(Answered::Decided(verdict));
                }
                Some(Reply::Details) => {
                    output::line(&card::card(found, preview, Extent::Whole))?;
                    if is_about_a_repeat(found) {
                        output::line(
                            "  This call may have happened already. If it did: charter approvals report",
                        )?;
                    }
                }
                Some(Reply::Leave) => return Ok(Answered::Left),
                Some(Reply::Quit) => return Ok(Answered::Quit),
                Some(Reply::Approve) | None => {
                    output::line("Answer y, n, d, r or q.")?;
                }
            }
        }
    }
}

fn is_about_a_repeat(found: &Decision) -> bool {
    let rules = found.value()["rules"].as_array();
    rules.is_some_and(|rules| rules.iter().any(|rule| rule["kind"] == INTERRUPTED))
}

/// Shows each decision that waits, oldest first, and asks. Returns the exit code: whether anything still waits.
pub(super) async fn decide_all(client: &Client) -> anyhow::Result<u8> {
    let asked = QueueFilter {
        state: Some("pending"),
        ..QueueFilter::default()
    };
    let mut queue = queue::all(client, asked).await?;
    queue.reverse();
    let count = queue.len();
    if count == 0 {
        output::line("No decision waits.")?;
        return Ok(EXIT_OK);
    }
    let mut dialogue = Dialogue::new(std::io::stdin().lock());
    let mut waits = false;
    for (at, waiting) in queue.into_iter().enumerate() {
        let found = match waiting {
            Waiting::Approval(approval) => Decision::Approval(approval),
            Waiting::Confirmation(run) => {
                let run = run["run_id"].as_str().unwrap_or_default();
                find::confirmation(client, run).await?
            }
        };
        let preview = card::preview(client, &found).await;
        let shown = card::card(&found, &preview, Extent::Brief);
        output::line(&format!("\n{} of {count}\n{shown}", at + 1))?;
        match dialogue.answer(&found, &preview)? {
            Answered::Decided(verdict) => waits |= settle(client, &found, &verdict).await?,
            Answered::Left => waits = true,
            Answered::Quit => return Ok(EXIT_WAITING),
        }
    }
    Ok(if waits { EXIT_WAITING } else { EXIT_OK })
}

/// Sends a verdict and reports what became of its run. Returns whether a decision still waits. A refused decision does
/// not end the conversation.
async fn settle(client: &Client, found: &Decision, verdict: &Verdict) -> anyhow::Result<bool> {
    match decide(client, found, verdict).await {
        Ok(run) => {
            let status = run["status"].as_str().unwrap_or_default().replace('_', " ");
            output::line(&format!("{} is {status}", found.run()))?;
            Ok(super::runs::code_of(&run)? == EXIT_WAITING)
        }
        Err(refused) => {
            failure::print_failure(&refused);
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn approval(can_approve: bool) -> Decision {
        Decision::Approval(json!({
            "approval_id": "apr-1", "digest": "sha256:00", "can_approve": can_approve,
            "call": {"tool": "db.drop", "run_id": "run-1", "parameters": {}},
        }))
    }

    fn answer(found: &Decision, typed: &str) -> Answered {
        let mut dialogue = Dialogue::new(typed.as_bytes());
        dialogue.answer(found, &Value::Null).unwrap()
    }

    fn verdict(word: Word) -> Verdict {
        Verdict {
            word,
            digest: "sha256:00".to_owned(),
            reason: None,
            typed: None,
        }
    }

    fn approve() -> Verdict {
        verdict(Word::Approve(Choice::default()))
    }

    #[test]
    fn only_a_yes_approves_and_binds_the_shown_digest() {
        let found = approval(true);
        for typed in ["y\n", "YES\r\n", "what\nd\ny\n"] {
            let agreed = Answered::Decided(approve());
            assert_eq!(answer(&found, typed), agreed, "{typed:?}");
        }
        for typed in ["\n", "n\n", "no\n"] {
            assert_eq!(answer(&found, typed), Answered::Left, "{typed:?}");
        }
        for typed in ["q\n", ""] {
            assert_eq!(answer(&found, typed), Answered::Quit, "{typed:?}");
        }
        let rejected = Verdict {
            reason: Some("no".to_owned()),
            ..verdict(Word::Reject)
        };
        assert_eq!(answer(&found, "r\nno\n"), Answered::Decided(rejected));
    }

    #[test]
    fn a_person_who_may_not_approve_can_only_leave_or_reject() {
        let found = approval(false);
        assert_eq!(answer(&found, "y\nn\n"), Answered::Left);
        let rejected = Answered::Decided(verdict(Word::Reject));
        assert_eq!(answer(&found, "r\n\n"), rejected);
    }

    #[test]
    fn a_destructive_plan_asks_for_its_text() {
        let plan = Decision::Confirmation(json!({
            "run_id": "run-1", "plan_digest": "sha256:00", "typed": "zone",
        }));
        let confirmed = Verdict {
            typed: Some("live".to_owned()),
            ..approve()
        };
        assert_eq!(answer(&plan, "y\nlive\n"), Answered::Decided(confirmed));
    }

    /// B000-18: changes that cannot be undone are counted by the person that approves them.
    #[test]
    fn b000_18_a_destructive_list_asks_for_its_number() {
        let Decision::Approval(mut list) = approval(true) else {
            unreachable!("it is an approval");
        };
        list["list"] = json!([{"step": "a"}, {"step": "b"}]);
        list["destructive"] = json!(true);
        let list = Decision::Approval(list);
        for (typed, count) in [("y\n2\n", Some(2)), ("y\nmany\n", None)] {
            let choice = Choice {
                count,
                ..Choice::default()
            };
            let agreed = Answered::Decided(verdict(Word::Approve(choice)));
            assert_eq!(answer(&list, typed), agreed, "{typed:?}");
        }
    }
}
