pip install .
casewise cases fetch casebench
casewise run --model openai-api/local/my-model --cases casebench --protocol binary --ablate none --ablate recipient --limit 60 --log-dir logs/why
casewise score logs/why --labels published --all
