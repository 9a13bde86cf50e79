//! How deep the tree of a text becomes, known from its tokens before it is parsed: parsers and what walks their trees go
//! as deep on the stack.
//!
//! Of a chain of operators it is not known which is the innermost, so all of them count for each of its operands. Knows
//! no language.

/// Counts brackets and operators. Brackets that close nothing are passed over.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    ground: Level,
    /// What is within open brackets, the innermost last.
    open: Vec<Level>,
    deepest: usize,
}

/// What is between brackets.
#[derive(Debug, Default)]
struct Level {
    /// Depth of the elements that have ended.
    elements: usize,
    /// Operators of this element.
    operators: usize,
    /// Depth of its operands that have ended.
    operands: usize,
    /// Depth of the operand at hand.
    operand: usize,
}

impl Level {
    fn depth(&self) -> usize {
        let element = self.operands.max(self.operand);
        self.elements.max(element.saturating_add(self.operators))
    }
}

impl Nesting {
    /// A bracket opens.
    pub(crate) fn open(&mut self) {
        self.open.push(Level::default());
        self.deepest = self.deepest.max(self.open.len());
    }

    /// A bracket closes: what is in it is an operand, or belongs to one.
    pub(crate) fn close(&mut self) {
        if let Some(inner) = self.open.pop() {
            let level = self.level();
            level.operand = level.operand.max(inner.depth());
        }
    }

    /// An operator, before or between operands.
    pub(crate) fn operator(&mut self) {
        self.operand_ends();
        self.level().operators += 1;
    }

    /// What applies to the operand before it: a member, a call, an index.
    pub(crate) fn postfix(&mut self) {
        self.level().operand += 1;
    }

    /// The operand ends, and nothing joins it to the next.
    pub(crate) fn operand_ends(&mut self) {
        let level = self.level();
        level.operands = level.operands.max(level.operand);
        level.operand = 0;
    }

    /// The element ends.
    pub(crate) fn separator(&mut self) {
        let level = self.level();
        *level = Level {
            elements: level.depth(),
            ..Level::default()
        };
    }

    /// Whether no bracket is open.
    pub(crate) fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    /// How many brackets are within each other.
    pub(crate) fn brackets(&self) -> usize {
        self.deepest
    }

    /// How many operators are on one way down.
    pub(crate) fn operators(mut self) -> usize {
        while !self.is_closed() {
            self.close();
        }
        self.ground.depth()
    }

    fn level(&mut self) -> &mut Level {
        self.open.last_mut().unwrap_or(&mut self.ground)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Brackets and operators of a text with the operators `+` and `.` (a member).
    fn measured(text: &str) -> (usize, usize) {
        let mut nesting = Nesting::default();
        for sign in text.chars() {
            match sign {
                '(' => nesting.open(),
                ')' => nesting.close(),
                '+' => nesting.operator(),
                '.' => nesting.postfix(),
                ';' => nesting.operand_ends(),
                ',' => nesting.separator(),
                _ => {}
            }
        }
        (nesting.brackets(), nesting.operators())
    }

    #[test]
    fn operators_count_on_one_way_down_and_brackets_within_each_other() {
        let cases = [
            ("a", (0, 0)),
            ("a+b+c", (0, 2)),
            ("(a+b),(c+d)", (1, 1)),
            ("(a+b)+(c+d)", (1, 2)),
            ("a.b.c+d.e", (0, 3)),
            ("(a.b+c).d", (1, 3)),
            ("(a+b,c,d+e+f)", (1, 2)),
            ("((a+b)+c)+d", (2, 3)),
            ("a+b;c.d.e", (0, 3)),
            ("((((", (4, 0)),
            ("(a+(b+", (2, 2)),
            ("))a)", (0, 0)),
        ];
        for (text, expected) in cases {
            assert_eq!(measured(text), expected, "{text}");
        }
    }

    #[test]
    fn chains_and_brackets_are_measured_at_any_length() {
        let many = 100_000;
        assert_eq!(measured(&"a+".repeat(many)), (0, many));
        assert_eq!(measured(&".b".repeat(many)), (0, many));
        assert_eq!(measured(&"(".repeat(many)), (many, 0));
        let nested = "(a+".repeat(many) + &")".repeat(many);
        assert_eq!(measured(&nested), (many, many));
        assert_eq!(measured(&"(a+b),".repeat(many)), (1, 1));
    }
}
