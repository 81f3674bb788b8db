"""instructor: a typed value; an answer that does not fit the type is requested again."""

import instructor
from pydantic import BaseModel, Field


class Invoice(BaseModel):
    """What the model should read."""

    number: int
    total: float = Field(gt=0)


client = instructor.from_provider("openai/gpt-4.1-mini")
invoice = client.create(
    response_model=Invoice,
    messages=[{"role": "user", "content": "Read this invoice: no. 7, paint, 120.50 euros"}],
    max_retries=2,
)
print(invoice)
