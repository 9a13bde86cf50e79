//! REST, events and authentication over the engine.
