//! Computes the depth of a text's syntax tree from its tokens before parsing, because the recursion of parsers and tree
//! walkers is equally deep.
//!
//! In a chain of operators the innermost one is unknown, so all of them count for each operand. Knows no language.

/// Counts brackets and operators. Unmatched closing brackets are ignored.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    ground: Level,
    /// The levels of the open brackets, the innermost last.
    open: Vec<Level>,
    deepest: usize,
}

/// The contents of a pair of brackets.
#[derive(Debug, Default)]
struct Level {
    /// The maximum depth of the finished elements.
    elements: usize,
    /// The number of operators of this element.
    operators: usize,
    /// The maximum depth of its finished operands.
    operands: usize,
    /// The depth of the current operand.
    operand: usize,
}

impl Level {
    fn depth(&self) -> usize {
        let element = self.operands.max(self.operand);
        self.elements.max(element.saturating_add(self.operators))
    }
}

impl Nesting {
    /// Opens a bracket.
    pub(crate) fn open(&mut self) {
        self.open.push(Level::default());
        self.deepest = self.deepest.max(self.open.len());
    }

    /// Closes a bracket: its contents are an operand, or a part of one.
    pub(crate) fn close(&mut self) {
        if let Some(inner) = self.open.pop() {
            let level = self.level();
            level.operand = level.operand.max(inner.depth());
        }
    }

    /// Counts an operator before or between operands.
    pub(crate) fn operator(&mut self) {
        self.operand_ends();
        self.level().operators += 1;
    }

    /// Counts a postfix of the preceding operand: a member, a call, an index.
    pub(crate) fn postfix(&mut self) {
        self.level().operand += 1;
    }

    /// Ends the operand without an operator before the next one.
    pub(crate) fn operand_ends(&mut self) {
        let level = self.level();
        level.operands = level.operands.max(level.operand);
        level.operand = 0;
    }

    /// Ends the element.
    pub(crate) fn separator(&mut self) {
        let level = self.level();
        *level = Level {
            elements: level.depth(),
            ..Level::default()
        };
    }

    /// Returns whether no bracket is open.
    pub(crate) fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the maximum nesting depth of brackets.
    pub(crate) fn brackets(&self) -> usize {
        self.deepest
    }

    /// Returns the maximum number of operators on one path through the tree.
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

    /// Measures brackets and operators of a text with the operators `+` and `.` (a member).
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
