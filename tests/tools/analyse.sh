#!/bin/sh
# SPDX-License-Identifier: MIT
# analyse.sh - what a static analyser says of the code that is installed.
set -eu
cd "$(dirname "$0")/../.."
cppcheck --quiet -j"$(nproc)" --std=c17 --platform=unix64 --template=gcc \
	--enable=warning,style,performance,portability --error-exitcode=1 \
	--suppressions-list=tests/tools/cppcheck.supp \
	-I. -D_GNU_SOURCE -D__x86_64__ -D__linux__ report tracer
