//! Measures the cost of compiling a schema and of validating one value, from the references between its subschemas.
//! Must not know keywords.

use super::fault::{CHAIN, EXPANSION, PARTS, SchemaFault};
use super::keywords::Applies;
use super::walk::{Structure, Subschema};

/// The subschemas that apply to the same value as a given one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SameValueCost {
    /// Length of the longest chain of them.
    pub(super) chain: usize,
    /// Their number, each counted once per path that leads to it.
    pub(super) expansion: usize,
    /// Name patterns in all of them.
    pub(super) name_patterns: usize,
}

/// The cost of a whole schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Total {
    /// Number of compiled parts.
    pub(super) parts: usize,
    /// Maximum that applies to one value, for each measure.
    pub(super) most: SameValueCost,
}

impl Total {
    /// Measures the cost of a schema.
    pub(super) fn measure(structure: &Structure<'_>) -> Result<Self, SchemaFault> {
        let count = structure.subschemas.len();
        let mut graph = Graph {
            subschemas: &structure.subschemas,
            here: vec![VisitState::No; count],
            compiled: vec![VisitState::No; count],
            marked: vec![VisitState::No; count],
        };
        let mut total = Self {
            parts: 0,
            most: SameValueCost {
                chain: 0,
                expansion: 0,
                name_patterns: 0,
            },
        };
        for (at, subschema) in structure.subschemas.iter().enumerate() {
            let here = graph.here(at, 1)?;
            total.most.chain = total.most.chain.max(here.chain);
            total.most.expansion = total.most.expansion.max(here.expansion);
            total.most.name_patterns = total.most.name_patterns.max(here.name_patterns);
            // Each subschema is read, and searched for common parts of alternatives.
            total.add(subschema.weight.saturating_add(here.expansion));
        }
        total.add(graph.compiled(0)?);
        let references = structure.subschemas.iter();
        let mut targets: Vec<usize> = references.filter_map(|from| from.reference).collect();
        targets.sort_unstable();
        targets.dedup();
        for at in targets {
            total.add(graph.compiled(at)?);
        }
        PARTS.check(total.parts, "")?;
        Ok(total)
    }

    fn add(&mut self, parts: usize) {
        self.parts = self.parts.saturating_add(parts);
    }
}

/// State of a computation.
#[derive(Debug, Clone, Copy)]
enum VisitState<T> {
    No,
    /// In progress: a second visit means a cycle.
    Soon,
    Yes(T),
}

struct Graph<'g> {
    subschemas: &'g [Subschema],
    here: Vec<VisitState<SameValueCost>>,
    /// Number of parts that each subschema compiles to.
    compiled: Vec<VisitState<usize>>,
    /// Parts that `unevaluatedProperties` adds for each subschema that applies to the same value.
    marked: Vec<VisitState<usize>>,
}

impl Graph<'_> {
    fn here(&mut self, at: usize, level: usize) -> Result<SameValueCost, SchemaFault> {
        let subschema = &self.subschemas[at];
        match self.here[at] {
            VisitState::Yes(here) => return Ok(here),
            VisitState::Soon => {
                let what = "applies to the same value as itself: refer to it from below, such as from \
                            `items` or `properties`";
                return Err(SchemaFault::unsupported(
                    &subschema.pointer,
                    what.to_owned(),
                ));
            }
            VisitState::No => {}
        }
        CHAIN.check(level, &subschema.pointer)?;
        self.here[at] = VisitState::Soon;
        let mut all = SameValueCost {
            chain: 1,
            expansion: 1,
            name_patterns: subschema.name_patterns,
        };
        for next in subschema.here() {
            let next = self.here(next, level + 1)?;
            all.chain = all.chain.max(next.chain + 1);
            all.expansion = all.expansion.saturating_add(next.expansion);
            all.name_patterns = all.name_patterns.saturating_add(next.name_patterns);
        }
        CHAIN.check(all.chain, &subschema.pointer)?;
        EXPANSION.check(all.expansion, &subschema.pointer)?;
        self.here[at] = VisitState::Yes(all);
        Ok(all)
    }

    /// Counts compiled parts: the validator compiles a subschema with its contents, and a reference target once for
    /// all references.
    fn compiled(&mut self, at: usize) -> Result<usize, SchemaFault> {
        let subschema = &self.subschemas[at];
        if let VisitState::Yes(parts) = self.compiled[at] {
            return Ok(parts);
        }
        begin_visit(&mut self.compiled[at], subschema)?;
        let mut parts = subschema.weight;
        for part in &subschema.parts {
            if part.applies != Applies::Elsewhere {
                parts = parts.saturating_add(self.compiled(part.at)?);
            }
        }
        if subschema.unevaluated > 0 {
            let marked = self.marked(at)?.saturating_mul(subschema.unevaluated);
            parts = parts.saturating_add(marked);
        }
        PARTS.check(parts, &subschema.pointer)?;
        self.compiled[at] = VisitState::Yes(parts);
        Ok(parts)
    }

    /// Counts the parts for `unevaluatedProperties`, which compiles everything that applies to the same value again
    /// and follows every reference anew.
    fn marked(&mut self, at: usize) -> Result<usize, SchemaFault> {
        let subschema = &self.subschemas[at];
        if let VisitState::Yes(parts) = self.marked[at] {
            return Ok(parts);
        }
        begin_visit(&mut self.marked[at], subschema)?;
        let mut parts = subschema.weight;
        for part in &subschema.parts {
            if part.marked || part.applies == Applies::Here {
                parts = parts.saturating_add(self.compiled(part.at)?);
            }
        }
        for next in subschema.here() {
            parts = parts.saturating_add(self.marked(next)?);
        }
        PARTS.check(parts, &subschema.pointer)?;
        self.marked[at] = VisitState::Yes(parts);
        Ok(parts)
    }
}

fn begin_visit(known: &mut VisitState<usize>, subschema: &Subschema) -> Result<(), SchemaFault> {
    if matches!(known, VisitState::Soon) {
        return Err(PARTS.exceeded(&subschema.pointer));
    }
    *known = VisitState::Soon;
    Ok(())
}

impl Subschema {
    /// Iterates over the subschemas that apply to the same value through this one.
    fn here(&self) -> impl Iterator<Item = usize> {
        let parts = self.parts.iter();
        parts
            .filter(|part| part.applies == Applies::Here)
            .map(|part| part.at)
            .chain(self.reference)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn total(schema: &Value) -> Result<Total, SchemaFault> {
        Total::measure(&Structure::parse(schema)?)
    }

    fn limit(schema: &Value) -> &'static str {
        match total(schema) {
            Err(SchemaFault::OverLimit { limit, .. }) => limit,
            Err(SchemaFault::Unsupported { .. } | SchemaFault::NotASchema(_)) => "unsupported",
            Ok(_) => "none",
        }
    }

    /// Builds a schema in which each `aN` refers twice to the next under `keyword`, for `levels` levels.
    fn doubling_schema(levels: usize, keyword: &str, more: &Value) -> Value {
        let mut defs = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
            let mut definition = json!({ keyword: [next, next] });
            let fields = definition.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            defs.insert(format!("a{level}"), definition);
        }
        defs.insert(format!("a{levels}"), json!({}));
        json!({"$defs": defs, "$ref": "#/$defs/a0"})
    }

    #[test]
    fn parts_that_double_with_each_reference_are_counted_each_time() {
        let nothing = json!({});
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let fits = total(&doubling_schema(9, keyword, &nothing)).unwrap();
            // 2^9 at the bottom, a reference and a list before each, plus the first reference.
            assert_eq!(fits.most.expansion, 2_046, "{keyword}");
            assert_eq!(
                limit(&doubling_schema(10, keyword, &nothing)),
                "SCHEMA_EXPANSION"
            );
            assert_eq!(
                limit(&doubling_schema(40, keyword, &nothing)),
                "SCHEMA_CHAIN"
            );
        }
        // The items are other values, so the chain does not grow.
        let items = doubling_schema(40, "prefixItems", &nothing);
        assert_eq!(total(&items).unwrap().most.chain, 2);
    }

    #[test]
    fn expansion_by_unevaluated_properties_is_counted() {
        let unevaluated = json!({"unevaluatedProperties": false});
        let few = total(&doubling_schema(3, "allOf", &unevaluated)).unwrap();
        assert!(few.parts < 2_000, "{few:?}");
        let more = total(&doubling_schema(9, "allOf", &unevaluated)).unwrap();
        assert!(more.parts > 80_000, "{more:?}");
        let many = doubling_schema(10, "allOf", &unevaluated);
        assert_eq!(limit(&many), "SCHEMA_EXPANSION");
        // Each level has its own `unevaluatedProperties`, without a reference.
        let nested = (0..14).fold(
            json!({}),
            |inside, _| json!({"allOf": [inside], "unevaluatedProperties": false}),
        );
        assert_eq!(limit(&nested), "SCHEMA_PARTS");
    }

    #[test]
    fn recursion_must_apply_to_a_smaller_value() {
        for schema in [
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"$ref": "#"}),
            json!({"not": {"if": {"$ref": "#"}}}),
            json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        ] {
            assert_eq!(limit(&schema), "unsupported", "{schema}");
        }
        for schema in [
            json!({"items": {"$ref": "#"}}),
            json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}),
            json!({"allOf": [{"additionalProperties": {"$ref": "#"}}], "unevaluatedItems": false}),
        ] {
            assert_eq!(limit(&schema), "none", "{schema}");
        }
    }

    #[test]
    fn long_chains_are_refused_and_long_lists_are_not() {
        let chain = |length: usize| {
            let defs = (0..length).map(|at| {
                let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
                (format!("d{at}"), next)
            });
            let mut defs: serde_json::Map<String, Value> = defs.collect();
            defs.insert(format!("d{length}"), json!({}));
            json!({ "$defs": defs })
        };
        assert_eq!(limit(&chain(31)), "none");
        assert_eq!(limit(&chain(32)), "SCHEMA_CHAIN");
        assert_eq!(limit(&chain(499)), "SCHEMA_CHAIN");
        let ways: Vec<Value> = (0..500).map(|at| json!({"const": at})).collect();
        assert_eq!(limit(&json!({ "oneOf": ways })), "none");
    }

    #[test]
    fn a_cycle_through_unevaluated_properties_is_refused() {
        let schema = json!({"additionalProperties": {"$ref": "#", "unevaluatedProperties": false}});
        assert_eq!(limit(&schema), "SCHEMA_PARTS");
        let tree = json!({
            "$defs": {"base": {"properties": {"name": {"type": "string"}}}},
            "allOf": [{"$ref": "#/$defs/base"}],
            "properties": {"children": {"items": {"$ref": "#"}}},
            "unevaluatedProperties": false,
        });
        assert_eq!(limit(&tree), "none");
    }
}
