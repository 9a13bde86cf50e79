//! Orders: numbers, amounts, quantities, delivery dates.

use serde_json::{Value, json};

use super::{asks, states};

fn declared() -> Value {
    json!([
        {"name": "order_id", "type": "string", "required": true, "example": "ORD-7001"},
        {"name": "amount_eur", "type": "number", "required": true, "description": "How many euros"},
        {"name": "quantity", "type": "integer"},
        {"name": "discount_percent", "type": "number"},
        {"name": "delivery_date", "type": "string", "example": "2026-07-01"},
        {"name": "reason", "type": "string", "description": "Why, for the books"},
        {"name": "express", "type": "boolean"},
        {"name": "notify_customer", "type": "boolean"},
        {"name": "skip_invoice", "type": "boolean"},
        {"name": "size", "type": "string", "enum": ["S", "M", "L", "XL"]},
    ])
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn a_sentence_about_orders_states_numbers_and_amounts() {
    states(
        &declared(),
        &[
            (
                "refund 15 euros on ORD-7310",
                json!({"order_id": "ORD-7310", "amount_eur": 15}),
            ),
            (
                "refund €15 on ord-7310",
                json!({"order_id": "ORD-7310", "amount_eur": 15}),
            ),
            (
                "refund 15€ for order ORD-7310's buyer",
                json!({"order_id": "ORD-7310", "amount_eur": 15}),
            ),
            (
                "EUR 15.40 back to ORD-7310",
                json!({"order_id": "ORD-7310", "amount_eur": 15.4}),
            ),
            (
                "fifteen euros for ORD-7310",
                json!({"order_id": "ORD-7310", "amount_eur": 15}),
            ),
            ("twenty-five euros", json!({"amount_eur": 25})),
            ("one hundred and five euros", json!({"amount_eur": 105})),
            ("two hundred euros", json!({"amount_eur": 200})),
            ("a hundred euros", json!({"amount_eur": 100})),
            ("1,250.75 euros", json!({"amount_eur": 1250.75})),
            ("1.250,75 Euro", json!({"amount_eur": 1250.75})),
            ("9,95 Euro", json!({"amount_eur": 9.95})),
            ("amount=12", json!({"amount_eur": 12})),
            (
                "an amount of 12 for ORD-7310",
                json!({"amount_eur": 12, "order_id": "ORD-7310"}),
            ),
            ("amount: 12.5", json!({"amount_eur": 12.5})),
            ("12 for ORD-7310", json!({"order_id": "ORD-7310"})),
            ("she paid 86 for it", json!({})),
            ("more than 50 euros need an approval", json!({})),
            ("half of it", json!({})),
            ("the full price", json!({})),
            ("refund it in full", json!({})),
            ("20 or so", json!({})),
            ("refund 10 euros of the 86 euros", json!({"amount_eur": 10})),
            ("12 euros, no wait, 14 euros", json!({"amount_eur": 14})),
            ("12 euros, sorry, make that 14", json!({"amount_eur": 14})),
            (
                "12 euros. Sorry, 3 people asked me",
                json!({"amount_eur": 12}),
            ),
            ("order number ORD-7310", json!({"order_id": "ORD-7310"})),
            (
                "order ORD-7310 and not ORD-7311",
                json!({"order_id": "ORD-7310"}),
            ),
            ("in order to ship", json!({})),
            ("order status", json!({})),
            ("what is an order?", json!({})),
            ("I want to order pizza", json!({})),
            ("ticket SEC-4410 says so", json!({})),
            ("quantity 4", json!({"quantity": 4})),
            ("a quantity of four", json!({"quantity": 4})),
            ("quantity: 4 pieces", json!({"quantity": 4})),
            ("give them a 10% discount", json!({"discount_percent": 10})),
            ("10 % off", json!({"discount_percent": 10})),
            (
                "a discount of 12.5 percent",
                json!({"discount_percent": 12.5}),
            ),
            ("100% sure", json!({"discount_percent": 100})),
            (
                "deliver it on 2026-07-09",
                json!({"delivery_date": "2026-07-09"}),
            ),
            (
                "deliver it on 9 July",
                json!({"delivery_date": "2026-07-09"}),
            ),
            (
                "deliver it next Friday",
                json!({"delivery_date": "2026-06-19"}),
            ),
            (
                "deliver it tomorrow",
                json!({"delivery_date": "2026-06-18"}),
            ),
            (
                "deliver it in 2 weeks",
                json!({"delivery_date": "2026-07-01"}),
            ),
            (
                "reason: the vase arrived broken. Thanks",
                json!({"reason": "the vase arrived broken"}),
            ),
            (
                "with the reason \"late parcel\"",
                json!({"reason": "late parcel"}),
            ),
            ("for some reason it is late", json!({})),
            ("the reason is not clear", json!({})),
            ("send it express", json!({"express": true})),
            ("express=no", json!({"express": false})),
            ("no express delivery", json!({"express": false})),
            ("notify the customer", json!({"notify_customer": true})),
            ("without an invoice", json!({"skip_invoice": true})),
            ("skip the invoice", json!({"skip_invoice": true})),
            ("with an invoice", json!({"skip_invoice": false})),
            ("in size XL", json!({"size": "XL"})),
            ("size m", json!({"size": "M"})),
            ("an L", json!({"size": "L"})),
            ("it's mine", json!({})),
        ],
    );
}

#[test]
fn amounts_and_orders_that_are_not_understood_are_asked_about() {
    asks(
        &declared(),
        &[
            ("refund ORD-7310 and ORD-7311", json!({}), &["order_id"]),
            ("refund 10 or 20 euros", json!({}), &["amount_eur"]),
            ("refund 1.250 euros", json!({}), &["amount_eur"]),
            (
                "refund $20 on ORD-7310",
                json!({"order_id": "ORD-7310"}),
                &["amount_eur"],
            ),
            ("refund order ORD7310", json!({}), &["order_id"]),
            ("quantity: 2.5", json!({}), &["quantity"]),
            ("deliver on 01/02/2027", json!({}), &["delivery_date"]),
            ("size: huge", json!({}), &["size"]),
        ],
    );
}
