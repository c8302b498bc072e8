pip install .
casewise run --model openai-api/local/old --protocol respond --log-dir logs/before
casewise run --model openai-api/local/new --protocol respond --log-dir logs/after
casewise compare logs/before logs/after
