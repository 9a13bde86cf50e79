"""What every value from the server has in common."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """A value of the contract. Fields that a newer server adds are kept as they come."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())
