"""Have something changed: one person asks and confirms the plan, another one decides on the exact call.

CHARTER_API_KEY is the key of who asks, CHARTER_APPROVER_KEY that of who decides.
"""

import os

from charter_client import Charter

with Charter() as asking, Charter(api_key=os.environ["CHARTER_APPROVER_KEY"]) as deciding:
    answer = asking.requests.create("remediate the public exposure findings", {"region": "us-east-1", "profile": ""})
    run = asking.runs.get(answer.run_id or "")
    print("the plan:", [(step.step, step.tool) for step in run.steps if step.writes and step.reverses is None])
    asking.runs.confirm(run.run_id, run.plan_digest)

    run = asking.runs.wait(run.run_id)
    for approval in run.approvals:
        print("the exact call:", approval.call.tool, approval.call.parameters["rules"][0])
        # The digest stands for what was seen. Here it is refused; `approve` takes the same.
        deciding.approvals.reject(approval.approval_id, approval.digest, reason="This is an example.")
    print("it is", asking.runs.wait(run.run_id).status)
