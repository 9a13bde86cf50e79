"""Writes the catalogue that routing is measured on: 10,000 skills of six domains
in five packages, the agents that own them, guardrails on all four levels, one
readonly tool that every skill uses, and queries that users would ask of them.

Everything is drawn from word lists with one seed: the same texts each time, on
every machine. No skill has example utterances, so that the peers, which keep
one vector for each document, search the same text.

    python bench/catalogue.py OUT_DIR [SKILLS]

writes `bundles.jsonl` (bodies of POST /v1/packages, in order), `documents.jsonl`
(id and text of each skill) and `queries.jsonl` (text and the skill it was drawn from).
"""

import json
import pathlib
import random
import sys

SEED = 20_240
SKILLS = 10_000
PACKAGES = 5
SKILLS_PER_AGENT = 40
QUERIES = 4_000
TOOL = "bench.read_inventory"

# Domain: what is looked at, and what may be the matter with it.
DOMAINS = {
    "security": (
        "security groups|storage buckets|access keys|load balancers|identity roles|network access lists"
        "|database snapshots|service accounts|certificates|container images|secrets|virtual machines"
        "|message queues|public addresses|firewall policies|container clusters",
        "that are open to the internet|without encryption at rest|with credentials older than ninety days"
        "|that allow any principal|without multi factor authentication|with wildcard permissions"
        "|that accept traffic without TLS|with known critical vulnerabilities|shared outside the organisation"
        "|without audit logging|that run as root|with default passwords|exposing remote desktop"
        "|with expired certificates|that trust an unknown account",
    ),
    "cost": (
        "volumes|elastic addresses|reserved instances|nat gateways|log groups|object stores|database clusters"
        "|development environments|gpu instances|data transfers|backup vaults|serverless functions"
        "|search domains|warehouse slots|idle load balancers|licences",
        "that nobody has used for thirty days|larger than their load needs|without a cost allocation tag"
        "|whose price doubled since last month|that run outside office hours|kept longer than their retention"
        "|on an outdated generation|billed at the on demand rate|above their monthly budget"
        "|with unused commitments|stored in the wrong class|duplicated across regions"
        "|orphaned after a deletion|with growing request charges|that could be bought on the spot market",
    ),
    "compliance": (
        "control mappings|audit trails|data retention rules|consent records|access reviews|vendor contracts"
        "|encryption policies|incident reports|change approvals|processing registers|training records"
        "|risk assessments|policy exceptions|evidence folders|deletion requests|segregation matrices",
        "required by SOC two|overdue for their annual review|without an accountable owner"
        "|that miss their evidence|falling under the privacy regulation|failed in the last audit"
        "|approved by a single person|covering payment card data|kept outside the permitted region"
        "|without a documented justification|that contradict the written policy|open for more than a quarter"
        "|linked to a withdrawn control|signed by a former employee|pending legal advice",
    ),
    "reliability": (
        "deployments|health checks|autoscaling groups|replica sets|backup jobs|failover plans|alarms"
        "|scheduled tasks|dependency graphs|rate limiters|dead letter queues|connection pools"
        "|service level objectives|maintenance windows|canary releases|disaster recovery drills",
        "that failed during the night|running in a single zone|without a tested restore"
        "|close to their quota|with a rising error rate|that restart in a loop|lagging behind the primary"
        "|that page nobody|whose latency got worse this week|without a rollback step|that burned their error budget"
        "|blocked by a stuck migration|with unbounded retries|missing a readiness probe|that time out under load",
    ),
    "data": (
        "warehouse tables|ingestion pipelines|event streams|feature stores|dashboards|materialised views"
        "|customer records|partition layouts|schema registries|data contracts|lineage graphs|quality rules"
        "|reference lists|embedding indexes|notebooks|export jobs",
        "that arrived late|with duplicate rows|holding personal information|whose schema changed without notice"
        "|nobody queries any more|with missing values in key columns|that scan the whole table"
        "|out of step with their source|without a named steward|rejected by validation"
        "|skewed towards one partition|read by external partners|refreshed less than daily"
        "|failing their freshness target|that join on unstable keys",
    ),
    "support": (
        "tickets|refund requests|customer accounts|onboarding checklists|knowledge articles|chat transcripts"
        "|escalations|renewal quotes|feature requests|shipment claims|invoices|subscriptions|satisfaction surveys"
        "|call recordings|return labels|partner referrals",
        "waiting for a first answer|that mention a competitor|reopened more than twice|close to a breach of the agreement"
        "|from our largest customers|with an angry tone|without a product category|likely to churn next quarter"
        "|disputed by the bank|sent to the wrong team|translated from another language|answered by an outdated article"
        "|missing a delivery address|that ask for a discount|promised by sales and not delivered",
    ),
}
# Verb of the skill, and how a user may say it.
VERBS = {
    "find": ("Finds", "which {what} are there {matter}"),
    "rank": ("Ranks", "what are the worst {what} {matter}"),
    "count": ("Counts", "how many {what} do we have {matter}"),
    "explain": ("Explains", "why do we have {what} {matter}"),
    "compare": ("Compares", "compare the {what} {matter}"),
    "forecast": ("Forecasts", "how will the number of {what} {matter} develop"),
    "summarise": ("Summarises", "give me a summary of {what} {matter}"),
    "trace": ("Traces", "who is responsible for {what} {matter}"),
}
DETAILS = (
    "grouped by owner and environment|for one region at a time|with the change that introduced each of them"
    "|ordered by business impact|together with the teams that depend on them|and proposes the next step"
    "|as a table for the weekly review|with a trend over the last twelve weeks|limited to production"
    "|including those created by automation|and links each to its runbook|with an estimate of the effort to mend it"
).split("|")
CONTEXTS = (
    "current inventory of {what}|change history of {what}|ownership records of {what}"
    "|monitoring data about {what}|exceptions granted for {what}"
).split("|")
PARAMETERS = (
    ("region", "string", "Region to examine"),
    ("environment", "string", "Environment, for instance production"),
    ("team", "string", "Team whose things are examined"),
    ("since", "string", "Start of the period, as a date"),
    ("limit", "integer", "Most entries to return"),
    ("account", "string", "Account or subscription to examine"),
)
PACKAGE_DOMAIN_GUARDRAILS = 4


def words(text):
    return "_".join(text.split())


def skill(domain, what, matter, verb, draw):
    short = " ".join(word for word in matter.split() if len(word) > 3)
    name = f"{verb}_{words(what)}_{words(short)}"
    detail, other = draw.sample(DETAILS, 2)
    context = draw.choice(CONTEXTS).format(what=what)
    parameters = draw.sample(PARAMETERS, draw.randint(1, 3))
    return {
        "skill_id": f"{domain}.{name}",
        "name": name,
        "domain": domain,
        "display_name": f"{verb.capitalize()} {what} {short}",
        "purpose": f"{verb} {what} {matter}",
        "description": f"{VERBS[verb][0]} {what} {matter}, {detail}.",
        "capabilities": [f"{verb} {what} {other}"],
        "context": {
            "context_descriptions": [context],
            "supported_context_types": [f"{domain}_inventory"],
        },
        "output_type": "finding",
        "parameters": [
            {"name": name, "type": kind, "required": False, "description": about}
            for name, kind, about in parameters
        ],
        "execution_plan": {
            "steps": [
                {
                    "step_id": "step_1",
                    "type": "readonly",
                    "tool_id": TOOL,
                    "description": f"Read the {context}",
                    "parameters": {"what": what},
                }
            ]
        },
    }


def skills(count, draw):
    every = [
        (domain, what, matter, verb)
        for domain, (whats, matters) in DOMAINS.items()
        for what in whats.split("|")
        for matter in matters.split("|")
        for verb in VERBS
    ]
    chosen = draw.sample(every, count)
    return [(pick, skill(*pick, draw)) for pick in sorted(chosen)]


def agents(package, own):
    for start in range(0, len(own), SKILLS_PER_AGENT):
        part = own[start : start + SKILLS_PER_AGENT]
        domain = part[0]["domain"]
        name = f"{package}_{start // SKILLS_PER_AGENT:03}"
        yield {
            "agent_id": f"domain.{domain}.{name}",
            "name": name,
            "display_name": f"{domain.capitalize()} agent {name}",
            "agent_type": "domain",
            "domain": domain,
            "capabilities": [skill["purpose"] for skill in part[:5]],
            "skill_refs": [skill["skill_id"] for skill in part],
        }


def guardrail(name, scope, applies_to, domain, enforcement):
    body = {
        "guardrail_id": name,
        "scope": scope,
        "applies_to": applies_to,
        "rule": f"Whatever {', '.join(applies_to)} changes is looked at by somebody else before it happens.",
        "enforcement": enforcement,
        "message": "This changes something that others depend on. Review the exact change first.",
        "exceptions": [{"condition": "dry_run == true", "allow": True}],
    }
    return body | ({"domain": domain} if domain else {})


def guardrails(package, own, owners):
    domains = sorted({skill["domain"] for skill in own})
    for domain in domains:
        for number in range(PACKAGE_DOMAIN_GUARDRAILS):
            name = f"{domain}.{package}_domain_{number}"
            yield guardrail(name, "domain", [f"{domain}.*"], domain, "require_approval")
    for agent in owners[::5]:
        name = f"{agent['agent_id']}.review"
        yield guardrail(name, "agent", [agent["agent_id"]], agent["domain"], "soft_warn")
    for skill in own[::100]:
        name = f"{skill['skill_id'][:150]}.approval"
        yield guardrail(name, "skill", [skill["skill_id"]], skill["domain"], "require_approval")


def shared():
    tool = {
        "tool_id": TOOL,
        "name": "read_inventory",
        "provider": "bench",
        "tool_class": "readonly",
        "domain": "data",
        "description": "Returns the entries of an inventory.",
        "parameters": [
            {"name": "what", "type": "string", "required": True, "description": "Which inventory"}
        ],
        "language": "python",
        "implementation": {"type": "script", "path": "scripts/read_inventory.py"},
    }
    everywhere = guardrail("bench.two_people", "global", ["*"], None, "require_approval")
    files = {
        "tools/read_inventory.json": json.dumps(tool),
        "scripts/read_inventory.py": "print('{}')\n",
        "guardrails/two_people.json": json.dumps(everywhere),
    }
    known = {"security", "cost", "compliance", "reliability"}
    for domain in DOMAINS:
        if domain not in known:
            body = {"domain_id": domain, "display_name": domain.capitalize(), "domain_type": "domain"}
            files[f"domains/{domain}.json"] = json.dumps(body)
    return bundle("bench-shared", files)


def bundle(name, files):
    manifest = {"name": name, "version": "1.0.0", "title": name, "scope": "global"}
    return {"files": {"package.yaml": json.dumps(manifest)} | files}


def packages(all_skills):
    yield shared()
    size = -(-len(all_skills) // PACKAGES)
    for number in range(PACKAGES):
        package = f"bench-{number}"
        own = all_skills[number * size : (number + 1) * size]
        owners = list(agents(package.replace("-", "_"), own))
        rules = list(guardrails(package.replace("-", "_"), own, owners))
        files = {f"skills/{skill['skill_id']}.json": json.dumps(skill) for skill in own}
        files |= {f"agents/{agent['agent_id']}.json": json.dumps(agent) for agent in owners}
        files |= {f"guardrails/{rule['guardrail_id']}.json": json.dumps(rule) for rule in rules}
        yield bundle(package, files)


def document(skill):
    """The text of a skill that both sides search: what Charter makes its vector from."""
    parts = [skill["purpose"], skill["description"], *skill["capabilities"]]
    parts += skill["context"]["context_descriptions"]
    return f"{skill['display_name']}: " + ". ".join(part.rstrip(".") for part in parts)


def queries(picks, draw):
    for (domain, what, matter, verb), skill in draw.sample(picks, min(QUERIES, len(picks))):
        text = VERBS[verb][1].format(what=what, matter=matter)
        yield {"text": text, "skill_id": skill["skill_id"]}


def write_lines(path, rows):
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def write(directory, count=SKILLS):
    """Writes the three files."""
    directory.mkdir(parents=True, exist_ok=True)
    draw = random.Random(SEED)
    picks = skills(count, draw)
    every = [skill for _, skill in picks]
    write_lines(directory / "bundles.jsonl", packages(every))
    documents = ({"id": skill["skill_id"], "text": document(skill)} for skill in every)
    write_lines(directory / "documents.jsonl", documents)
    write_lines(directory / "queries.jsonl", queries(picks, draw))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
