"""Have a mission brief on the account, without a model, and take it away as one file."""

from charter_client import Charter

with Charter() as charter:
    mission = charter.missions.start(
        "What does the internet reach in our account, and what is to be fixed first?",
        mission_type="security.account_brief",
        mission_id="brief-1",  # the same order again finds the mission that it began
        model="offline",
        context_refs={"region": "us-east-1"},
    )
    for event in charter.missions.stream_events(mission.mission_id):
        print(event.sequence, event.event, event.mission_state)
        if event.mission_state == "awaiting_approval":
            break
    mission = charter.missions.wait(mission.mission_id)
    print(mission.output["summary"] if mission.output else mission.reason)
    for proposed in mission.proposals:
        print("proposed:", proposed.proposal.action_type, proposed.proposal.target_entity_id)
    charter.missions.export(mission.mission_id, "brief.jsonl")
