"""The leads and conversations that the quickstart's CRM begins with.

They are made up. The day that the CRM calls today is fixed, so that a brief says
the same whenever it is asked for.
"""

from __future__ import annotations

TODAY = "2026-04-14"

# id, name, segment, interest, budget in AED, stage, score, owner, last contact
LEADS = [
    ("lead_101", "Marina Holdings", "whale", "waterfront", 42_000_000, "Qualified", 94, "Omar", "2026-04-11"),
    ("lead_102", "Al Noor Family Office", "whale", "waterfront", 65_000_000, "Contacted", 88, "Lena", "2026-03-20"),
    ("lead_103", "Palm Estates", "investor", "waterfront", 18_000_000, "Qualified", 71, "Omar", "2026-04-09"),
    ("lead_104", "Henrik Lund", "private", "waterfront", 9_000_000, "New", 64, "Sara", "2026-04-12"),
    ("lead_105", "Creek Capital", "investor", "waterfront", 27_000_000, "Negotiation", 83, "Lena", "2026-04-13"),
    ("lead_106", "Ivy Chen", "private", "waterfront", 6_500_000, "Contacted", 41, "Sara", "2026-02-25"),
    ("lead_107", "Desert Rose Trading", "investor", "downtown", 15_000_000, "Qualified", 77, "Omar", "2026-04-08"),
    ("lead_108", "Northwind Yachts", "whale", "waterfront", 51_000_000, "Won", 99, "Lena", "2026-03-30"),
]

# lead, day, who wrote, text
MESSAGES = [
    ("lead_101", "2026-04-07", "agent", "The marina-facing penthouse is free from June. Shall I hold it?"),
    ("lead_101", "2026-04-10", "lead", "Please hold it. Our board approved AED 42 million."),
    ("lead_101", "2026-04-11", "lead", "Send the contract and the deposit details, we want to sign this month."),
    ("lead_102", "2026-03-18", "lead", "We compare three waterfront towers. What are the service charges?"),
    ("lead_102", "2026-03-20", "agent", "The charges are in the attached sheet. When may I show you the two upper floors?"),
    ("lead_103", "2026-04-02", "agent", "Here is the plan of the two canal units."),
    ("lead_103", "2026-04-09", "lead", "Good. After the partners' meeting we can go to AED 12 million at most."),
    ("lead_104", "2026-04-12", "lead", "Could I view a two-bedroom on the water next week?"),
    ("lead_105", "2026-04-13", "lead", "Our lawyer returns the contract on Thursday with two remarks."),
    ("lead_106", "2026-02-21", "agent", "Would a smaller unit in the second row suit you?"),
    ("lead_106", "2026-02-25", "lead", "Thank you, but we bought elsewhere last week."),
    ("lead_107", "2026-04-08", "lead", "Send me the floor plans of the downtown offices, please."),
]
