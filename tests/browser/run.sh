#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - every *_check.py here, in headless Chromium, on sample figures.
# The last line adds up what they say.
set -u
cd "$(dirname "$0")/../.."
make --no-print-directory test-tools || exit 1
passed=0 failed=0
for check in tests/browser/*_check.py; do
	output=$("$check")
	status=$?
	printf '%s:\n%s\n' "$check" "$output"
	line=$(printf '%s\n' "$output" | tail -n 1)
	p=$(printf '%s\n' "$line" | sed -nE 's/^([0-9]+) passed.*/\1/p')
	f=$(printf '%s\n' "$line" | sed -nE 's/.* ([0-9]+) failed.*/\1/p')
	[ "$status" -eq 0 ] || [ "${f:-0}" -gt 0 ] || f=1
	passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0}))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
