#!/bin/sh
# SPDX-License-Identifier: MIT
# embed.sh FILE... - C source that holds the files, as a table
# `builtin_files` (report/template/builtin.h).
set -eu
echo '#include "report/template/builtin.h"'
i=0
for file in "$@"; do
	cat <<EOF
__asm__(".section .rodata\\n"
	"builtin_data_$i: .incbin \"$file\"\\n"
	"builtin_end_$i: .byte 0\\n"
	".previous\\n");
extern const char builtin_data_$i[];
extern const char builtin_end_$i[];
EOF
	i=$((i + 1))
done
echo 'const struct builtin_file builtin_files[] = {'
i=0
for file in "$@"; do
	echo "	{ \"$(basename "$file")\", builtin_data_$i, builtin_end_$i },"
	i=$((i + 1))
done
echo '};'
echo "const size_t builtin_file_count = $i;"
