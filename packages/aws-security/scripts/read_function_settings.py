"""aws.read_function_settings: access, runtime, secrets and network of a region's Lambda functions.

Variables are searched for secrets; only the names of those that hold one leave this script.
"""

from __future__ import annotations

from typing import Any

from bucket_policy import public_statements
from charter_aws import Aws, Call, JsonObject, run, sorted_by
from secret_patterns import has_secret
from settings import Settings

ACCOUNT, KIND = "aws.account", "aws.lambda.function"
# Of a function's policy, URL or tags: it has none.
_ABSENT = ("ResourceNotFoundException",)
# Runtimes that AWS no longer patches.
RETIRED = frozenset(
    """
    dotnet5.0 dotnet6 dotnet7 dotnetcore1.0 dotnetcore2.0 dotnetcore2.1 dotnetcore3.1 go1.x java8
    nodejs nodejs10.x nodejs12.x nodejs14.x nodejs16.x nodejs18.x nodejs4.3 nodejs4.3-edge
    nodejs6.10 nodejs8.10 provided python2.7 python3.6 python3.7 python3.8 python3.9 ruby2.5 ruby2.7 ruby3.2
    """.split()
)


def _open_statements(lambdas: Any, name: str) -> list[str]:
    policy = lambdas.get_policy(FunctionName=name)["Policy"]
    return [item["statement"] for item in public_statements(policy)]


def _url(lambdas: Any, name: str) -> JsonObject:
    answer = lambdas.get_function_url_config(FunctionName=name)
    return {
        "has_url": True,
        "authenticates": answer["AuthType"] != "NONE",
        "any_origin": "*" in answer.get("Cors", {}).get("AllowOrigins", []),
    }


def read_function_settings(_call: Call, aws: Aws) -> JsonObject:
    """The functions of the region."""
    settings, lambdas = Settings(aws), aws.client("lambda")
    zones = {
        subnet["SubnetId"]: subnet["AvailabilityZone"]
        for subnet in settings.pages(ACCOUNT, "ec2", "describe_subnets", "Subnets")
    }

    def read(function: JsonObject) -> JsonObject:
        name = function["FunctionName"]
        variables = function.get("Environment", {}).get("Variables", {})
        network = function.get("VpcConfig") or {}
        subnets = network.get("SubnetIds") or []

        def part(setting: str, reading: Any, default: Any) -> Any:
            return settings.read(
                KIND, name, setting, lambda: reading(lambdas, name), absent=_ABSENT, default=default
            )

        return {
            "name": name,
            "arn": function["FunctionArn"],
            "tags": part(
                "tags",
                lambda client, _: client.list_tags(Resource=function["FunctionArn"])["Tags"],
                {},
            )
            or {},
            "runtime": function.get("Runtime"),
            "runtime_retired": function.get("Runtime") in RETIRED,
            "variables": len(variables),
            "secret_variables": sorted(
                key for key, value in variables.items() if has_secret(key, value)
            ),
            "kms_key": function.get("KMSKeyArn"),
            "in_vpc": bool(subnets),
            "zones": len({zones.get(subnet, subnet) for subnet in subnets}),
            "dead_letters": bool(function.get("DeadLetterConfig", {}).get("TargetArn")),
            "traced": function.get("TracingConfig", {}).get("Mode") == "Active",
            "open_statements": part("policy", _open_statements, []),
            "url": part(
                "URL", _url, {"has_url": False, "authenticates": True, "any_origin": False}
            ),
        }

    listed = settings.pages(ACCOUNT, "lambda", "list_functions", "Functions")
    functions = settings.each(KIND, listed, "FunctionName", read)
    return settings.report(functions=sorted_by(functions, "name"))


if __name__ == "__main__":
    run(read_function_settings)
