# Dictionaries of strings, some dropped, some kept: 400,000 allocations
# with PYTHONMALLOC=malloc.
import json

kept = []
for turn in range(8):
    rows = [{"id": i, "name": f"row {turn}.{i}", "tags": ["a", str(i)]}
            for i in range(1500)]
    text = json.dumps(rows)
    back = json.loads(text)
    if turn % 2 == 0:
        kept.append(back[:200])
print(len(kept), len(text))
