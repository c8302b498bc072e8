pip install .
casewise cases import lines.xlsx --draft --out mapping.yaml
casewise cases import lines.xlsx --map mapping.yaml --out lines.jsonl
casewise run --model target.yaml --cases lines.jsonl --protocol respond --delivery claimed --log-dir logs/bot
casewise report logs/bot --out report.html
