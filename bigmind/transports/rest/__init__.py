"""REST under `/api/v1/`: one loop over the catalogue, problem+json for every refusal, a true OpenAPI document."""
