pip install .
casewise contexts generate queries.csv --out cases.jsonl --model openai-api/local/my-model --source "our team" --licence CC-BY-4.0 --dry-run
casewise contexts generate queries.csv --out cases.jsonl --model openai-api/local/my-model --source "our team" --licence CC-BY-4.0
casewise cases audit cases.jsonl
casewise cases release cases.jsonl --version 1.0.0 --note "Ten queries in two contexts each"
