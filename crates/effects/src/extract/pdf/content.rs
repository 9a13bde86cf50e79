//! Interprets content streams: the letters that a page shows, with their places. Forms that it calls are included.
//!
//! Must not know lines, words or pages.

mod operands;
mod shown;

use std::collections::BTreeSet;
use std::rc::Rc;

use charter_contract::bounds::{PDF_FORM_LEVELS, PDF_PAGE_LETTERS, PDF_STATES, PDF_STEPS};
use hayro_font::hayro_syntax::content::{Instruction, UntypedIter};
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier};
use hayro_font::hayro_syntax::page::Resources;
use hayro_font::kurbo::Affine;

use super::UnreadReason;
use super::fonts::{Face, Fonts, WritingMode};
use super::streams::Unpacking;
use operands::{actual_text, matrix, name, numbers, properties};

pub(super) use shown::{Shown, Spelling};

/// Bytes of a dictionary that cost as much reading time as one instruction.
const STEP_BYTES: usize = 64;
/// Reading time of a form before its own instructions, in instructions.
const FORM_STEPS: usize = 64;
/// Operators that change the text state and show nothing.
const TEXT_OPERATORS: [&[u8]; 11] = [
    b"BT", b"Tc", b"Tw", b"Tz", b"TL", b"Ts", b"Tf", b"Td", b"TD", b"Tm", b"T*",
];

/// State that all pages of a document share.
#[derive(Default)]
pub(super) struct Document<'a> {
    pub(super) fonts: Fonts<'a>,
    pub(super) unpacking: Unpacking,
    /// Instructions read so far.
    pub(super) steps: usize,
}

/// The text part of the graphics state.
#[derive(Clone)]
struct TextState<'a> {
    face: Option<Rc<Face<'a>>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

#[derive(Clone)]
struct State<'a> {
    transform: Affine,
    text: TextState<'a>,
}

/// A marked part of the content, and the text that replaces its letters.
struct MarkedContent {
    actual: Option<String>,
    /// Index of the first letter of the part.
    from: usize,
}

/// Reads the content of one page.
pub(super) struct Reader<'a, 'd> {
    document: &'d mut Document<'a>,
    state: State<'a>,
    saved: Vec<State<'a>>,
    line: Affine,
    pen: Affine,
    marked: Vec<MarkedContent>,
    /// Forms that are being shown, to detect a form that shows itself.
    open_forms: Vec<ObjectIdentifier>,
    pub(super) shown: Vec<Shown>,
    pub(super) faults: BTreeSet<UnreadReason>,
}

impl<'a, 'd> Reader<'a, 'd> {
    /// Creates a reader of a page whose coordinates are changed by `transform`.
    pub(super) fn new(document: &'d mut Document<'a>, transform: Affine) -> Self {
        let text = TextState {
            face: None,
            size: 1.0,
            letter_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        Self {
            document,
            state: State { transform, text },
            saved: Vec::new(),
            line: Affine::IDENTITY,
            pen: Affine::IDENTITY,
            marked: Vec::new(),
            open_forms: Vec::new(),
            shown: Vec::new(),
            faults: BTreeSet::new(),
        }
    }

    /// Reads the content of a page: one stream, or several in sequence.
    pub(super) fn page(&mut self, page: &Dict<'a>, resources: &Resources<'a>) {
        let mut content = Vec::new();
        match page.get::<Object<'a>>("Contents") {
            Some(Object::Array(parts)) => {
                for part in parts.iter::<Object<'a>>() {
                    self.append(&mut content, Some(part));
                }
            }
            // A page may be empty.
            None if !page.contains_key("Contents") => {}
            single => self.append(&mut content, single),
        }
        self.run(&content, resources);
    }

    /// Appends the data of a stream that the page shows.
    fn append(&mut self, content: &mut Vec<u8>, part: Option<Object<'a>>) {
        let data = match part {
            Some(Object::Stream(stream)) => self.document.unpacking.unpack(&stream),
            Some(_) | None => Err(UnreadReason::Stream),
        };
        match data {
            Ok(data) => {
                content.extend_from_slice(&data);
                content.push(b'\n');
            }
            Err(reason) => {
                self.faults.insert(reason);
            }
        }
    }

    fn run(&mut self, content: &[u8], resources: &Resources<'a>) {
        let floor = self.saved.len();
        let mut instructions = UntypedIter::new(content);
        while let Some(instruction) = instructions.next() {
            self.document.steps += 1;
            if self.document.steps > PDF_STEPS {
                self.faults.insert(UnreadReason::DocumentTooLarge);
                break;
            }
            self.follow(&instruction, resources, floor);
        }
        if let Some(state) = self.saved.get(floor) {
            self.state = state.clone();
        }
        self.saved.truncate(floor);
    }

    fn follow(
        &mut self,
        instruction: &Instruction<'_, '_>,
        resources: &Resources<'a>,
        floor: usize,
    ) {
        let operator: &[u8] = instruction.operator;
        match operator {
            b"q" if self.saved.len() < PDF_STATES => self.saved.push(self.state.clone()),
            b"Q" if self.saved.len() > floor => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            b"cm" => {
                if let Some(matrix) = matrix(instruction) {
                    self.state.transform *= matrix;
                }
            }
            b"Do" => {
                if let Some(name) = name(instruction) {
                    self.show_form(name, resources);
                }
            }
            b"gs" => {
                if let Some(name) = name(instruction) {
                    self.take_state(name, resources);
                }
            }
            b"BMC" => self.begin_marked(None),
            b"BDC" => {
                let properties = properties(instruction, resources);
                let actual = properties.and_then(|properties| {
                    self.count(&properties);
                    actual_text(&properties)
                });
                self.begin_marked(actual);
            }
            b"EMC" => self.end_marked(),
            b"Tj" | b"TJ" | b"'" | b"\"" => self.show(operator, instruction),
            _ => self.set(operator, instruction, resources),
        }
    }

    fn set(
        &mut self,
        operator: &[u8],
        instruction: &Instruction<'_, '_>,
        resources: &Resources<'a>,
    ) {
        if !TEXT_OPERATORS.contains(&operator) {
            return;
        }
        let numbers = numbers(instruction);
        let text = &mut self.state.text;
        match (operator, numbers.as_slice()) {
            (b"BT", _) => {
                self.line = Affine::IDENTITY;
                self.pen = self.line;
            }
            (b"Tc", [.., space]) => text.letter_space = *space,
            (b"Tw", [.., space]) => text.word_space = *space,
            (b"Tz", [.., percent]) => text.stretch = percent / 100.0,
            (b"TL", [.., leading]) => text.leading = *leading,
            (b"Ts", [.., rise]) => text.rise = *rise,
            (b"Tf", [.., size]) => {
                text.size = *size;
                if let Some(name) = name(instruction) {
                    let font = resources.get_font(name);
                    self.set_font(font);
                }
            }
            (b"Td", [.., x, y]) => self.next_line(*x, *y),
            (b"TD", [.., x, y]) => {
                text.leading = -y;
                self.next_line(*x, *y);
            }
            (b"Tm", _) => {
                if let Some(matrix) = matrix(instruction) {
                    self.line = matrix;
                    self.pen = matrix;
                }
            }
            (b"T*", _) => {
                let leading = text.leading;
                self.next_line(0.0, -leading);
            }
            _ => {}
        }
    }

    /// Counts a dictionary that an instruction uses.
    fn count(&mut self, dict: &Dict<'_>) {
        self.document.steps += dict.data().len() / STEP_BYTES;
    }

    fn set_font(&mut self, font: Option<Dict<'a>>) {
        if let Some(dict) = &font {
            self.count(dict);
        }
        let document = &mut *self.document;
        let face = match font {
            Some(dict) => document.fonts.face(&dict, &mut document.unpacking),
            None => Rc::new(Face::unreadable(UnreadReason::Font)),
        };
        self.faults.extend(face.fault());
        self.state.text.face = Some(face);
    }

    fn take_state(&mut self, name: &Name<'_>, resources: &Resources<'a>) {
        let Some(state) = resources.get_ext_g_state(name) else {
            return;
        };
        self.count(&state);
        if let Some(font) = state.get::<Array<'a>>("Font") {
            let mut items = font.flex_iter();
            let dict = items.next::<Dict<'a>>();
            if let Some(size) = items.next::<f64>() {
                self.state.text.size = size;
            }
            self.set_font(dict);
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line *= Affine::translate((x, y));
        self.pen = self.line;
    }

    fn show(&mut self, operator: &[u8], instruction: &Instruction<'_, '_>) {
        if matches!(operator, b"'" | b"\"") {
            if operator == b"\""
                && let [word, letter, ..] = numbers(instruction).as_slice()
            {
                self.state.text.word_space = *word;
                self.state.text.letter_space = *letter;
            }
            let leading = self.state.text.leading;
            self.next_line(0.0, -leading);
        }
        match instruction.operands().last() {
            Some(Object::String(string)) => self.show_string(string.as_bytes()),
            Some(Object::Array(parts)) => {
                for part in parts.iter::<Object<'_>>() {
                    match part {
                        Object::String(string) => self.show_string(string.as_bytes()),
                        Object::Number(back) => self.move_back(back.as_f64()),
                        _ => {}
                    }
                }
            }
            Some(_) | None => {}
        }
    }

    /// Moves the pen by thousandths of an em, against the direction of writing.
    fn move_back(&mut self, thousandths: f64) {
        let text = &self.state.text;
        let by = -thousandths / 1000.0 * text.size;
        let mode = text.face.as_ref().map(|face| face.writing_mode());
        let down = mode == Some(WritingMode::Vertical);
        let by = if down {
            (0.0, by)
        } else {
            (by * text.stretch, 0.0)
        };
        self.pen *= Affine::translate(by);
    }

    fn show_string(&mut self, string: &[u8]) {
        let Some(face) = self.state.text.face.clone() else {
            return;
        };
        let text = self.state.text.clone();
        let scale = Affine::new([
            text.size * text.stretch,
            0.0,
            0.0,
            text.size,
            0.0,
            text.rise,
        ]);
        let mut rest = string;
        while let Some((code, length)) = face.next(rest) {
            rest = &rest[length..];
            self.document.steps += 1;
            if self.shown.len() >= PDF_PAGE_LETTERS {
                self.faults.insert(UnreadReason::PageTooLarge);
                return;
            }
            let (across, up) = code.letter.advance;
            let space = text.letter_space + if code.is_space { text.word_space } else { 0.0 };
            let moved = match face.writing_mode() {
                WritingMode::Vertical => (0.0, up * text.size + space),
                WritingMode::Horizontal => ((across * text.size + space) * text.stretch, 0.0),
            };
            let from = self.state.transform * self.pen;
            self.pen *= Affine::translate(moved);
            let to = self.state.transform * self.pen;
            self.shown.extend(Shown::new(
                code.letter.text,
                from * scale,
                to * scale,
                face.em(),
                face.writing_mode(),
            ));
        }
    }

    fn show_form(&mut self, name: &Name<'_>, resources: &Resources<'a>) {
        let Some(form) = resources.get_x_object(name) else {
            return;
        };
        self.count(form.dict());
        self.document.steps += FORM_STEPS;
        let kind = form.dict().get::<Name<'a>>("Subtype");
        if kind.is_none_or(|kind| kind.as_ref() != b"Form")
            || self.open_forms.contains(&form.obj_id())
        {
            return;
        }
        if self.open_forms.len() >= PDF_FORM_LEVELS {
            self.faults.insert(UnreadReason::PageTooLarge);
            return;
        }
        let content = match self.document.unpacking.unpack(&form) {
            Ok(content) => content,
            Err(reason) => {
                self.faults.insert(reason);
                return;
            }
        };
        let before = (self.state.clone(), self.line, self.pen);
        if let Some(matrix) = form.dict().get::<[f64; 6]>("Matrix") {
            self.state.transform *= Affine::new(matrix);
        }
        self.open_forms.push(form.obj_id());
        match form.dict().get::<Dict<'a>>("Resources") {
            Some(own) => self.run(&content, &Resources::new(own)),
            None => self.run(&content, resources),
        }
        self.open_forms.pop();
        (self.state, self.line, self.pen) = before;
    }

    fn begin_marked(&mut self, actual: Option<String>) {
        if self.marked.len() < PDF_STATES {
            let from = self.shown.len();
            self.marked.push(MarkedContent { actual, from });
        }
    }

    fn end_marked(&mut self) {
        if let Some(MarkedContent {
            actual: Some(actual),
            from,
        }) = self.marked.pop()
            && let Some(part) = self.shown.get_mut(from..)
        {
            shown::replace(part, &actual);
        }
    }
}
