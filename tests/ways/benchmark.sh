pip install .
casewise contexts generate queries.csv --out cases.jsonl --model openai-api/local/my-model --source "our team" --licence CC-BY-4.0 --dry-run
casewise contexts generate queries.csv --out cases.jsonl --model openai-api/local/my-model --source "our team" --licence CC-BY-4.0
casewise cases audit cases.jsonl
casewise cases convert cases.jsonl cases.yaml
