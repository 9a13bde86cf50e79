//! A stored mission is compared with its replay: one changed byte in the database is detected and located (B002-14).

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::on_disk;

/// Changes the case of one letter in the middle of a text of the database, bypassing triggers and constraints.
const TURN: &str = r#"
import re, sqlite3, sys
data, table, row = sys.argv[1:]
database = sqlite3.connect(data + "/charter.db", isolation_level=None)
database.execute("PRAGMA ignore_check_constraints = ON")
for (trigger,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", [table]).fetchall():
    database.execute(f"DROP TRIGGER {trigger}")
(text,) = database.execute(f"SELECT payload FROM {table} WHERE rowid = ?", [row]).fetchone()
words = [word for word in re.finditer("[a-z]{4,}", text) if word.group() not in ("true", "false", "null")]
at = min(words, key=lambda word: abs(word.start() - len(text) // 2)).start() + 1
turned = text[:at] + text[at].upper() + text[at + 1:]
database.execute(f"UPDATE {table} SET payload = ? WHERE rowid = ?", [turned, row])
"#;

/// Each stored text of a mission: the table, the row, and its name in a replay.
const ROWS: &str = r#"
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1] + "/charter.db")
found = []
for kind, id, place in database.execute("SELECT kind, artifact_id, place FROM colony_artifacts ORDER BY place").fetchall():
    tables = {"mission_envelope": "colony_missions", "mission_task_graph": "colony_task_graphs"}
    table = tables.get(kind) or ("colony_librarian_passes" if kind == "librarian_pass" else f"colony_{kind}s")
    query = f"SELECT rowid FROM {table} WHERE " + ("1" if table == "colony_missions" else "place = ?")
    (row,) = database.execute(query, [] if table == "colony_missions" else [place]).fetchone()
    found.append([table, row, f"artifact {place} "])
for row, sequence in database.execute("SELECT rowid, sequence FROM journal_event ORDER BY sequence").fetchall():
    found.append(["journal_event", row, f"event {sequence}: "])
print(json.dumps(found))
"#;

/// Runs a command without network access: with a filter that any user may set, and that is tested before it is relied
/// on.
const WITHOUT_NETWORK: &str = r#"
import ctypes, errno, os, platform, socket, struct, sys
connect = {"x86_64": 42, "aarch64": 203}[platform.machine()]
steps = [
    (0x20, 0, 0, 0),                    # the number of the call
    (0x15, 0, 1, connect),
    (0x06, 0, 0, 0x00050000 | errno.EPERM),
    (0x06, 0, 0, 0x7FFF0000),           # any other is let through
]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
program = Program(len(steps), ctypes.addressof(text))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
assert libc.prctl(22, 2, ctypes.byref(program)) == 0, os.strerror(ctypes.get_errno())
try:
    socket.socket().connect(("127.0.0.1", 9))
    sys.exit("there is a network")
except PermissionError:
    pass
os.execvp(sys.argv[1], sys.argv[1:])
"#;

fn python(script: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("python3");
    let ran = command
        .args(["-c", script])
        .args(arguments)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// B002-14: replay needs no network, and compares each artifact and each event of the journal: one changed letter in
/// any of them is detected and located.
#[test]
fn b002_14_a_letter_that_was_changed_in_storage_is_found_and_located() {
    let (home, _) = on_disk();
    std::fs::write(home.path("without_network.py"), WITHOUT_NETWORK).unwrap();
    let replayed = |data: &str| {
        let line = format!(
            "python3 without_network.py charter --data-dir {data} mission replay m-1 --output json"
        );
        home.shell(&line)
    };
    let whole = replayed("data").json(0);
    assert_eq!(whole["identical"], true, "{whole:#}");
    let rows: Value =
        serde_json::from_str(&python(ROWS, &[home.data().to_str().unwrap()])).unwrap();
    let rows = rows.as_array().unwrap();
    let events = whole["events"].as_u64().unwrap();
    let artifacts = whole["artifacts"].as_u64().unwrap();
    assert_eq!(rows.len() as u64, events + artifacts);
    for row in rows {
        let (table, place) = (row[0].as_str().unwrap(), row[2].as_str().unwrap());
        let data = home.path("changed");
        copied(&home.data(), &data);
        let data = data.to_str().unwrap();
        python(TURN, &[data, table, &row[1].to_string()]);
        let found = replayed("changed").json(1);
        assert_eq!(found["identical"], false, "{row}");
        let divergence = found["divergence"].as_str().unwrap();
        assert!(divergence.starts_with(place), "{row}: {divergence}");
        std::fs::remove_dir_all(data).unwrap();
    }
}
