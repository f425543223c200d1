#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh DIR SOURCES PART…   make the fixtures of the symbol tests in DIR
#
# What needs a tool that is missing is left out, and its tests are skipped.
set -eu
dir=$1 src=$2
shift 2
mkdir -p "$dir"
src=$(cd "$src" && pwd)
cd "$dir"
have() { command -v "$1" >/dev/null 2>&1; }
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

# Calls inlined into each other, in all the forms of debug information.
part_chain() {
	gcc -O2 -g "$src/chain.c" -o chain
	gcc -O2 -gdwarf-4 "$src/chain.c" -o chain-dwarf4
	gcc -O2 -gdwarf-5 "$src/chain.c" -o chain-dwarf5
	gcc -O2 -g -gz=zlib "$src/chain.c" -o chain-gz
	gcc -O2 -g -gsplit-dwarf "$src/chain.c" -o chain-split
	gcc -O2 -g -flto "$src/chain.c" -o chain-lto
	gcc -O2 -g -no-pie "$src/chain.c" -o chain-nopie
	if have clang; then
		clang -O2 -gdwarf-4 "$src/chain.c" -o chain-clang4
		clang -O2 -gdwarf-5 "$src/chain.c" -o chain-clang5
	fi
	if have dwz; then
		cp chain-dwarf4 dwz-one && cp chain-nopie dwz-two
		dwz -m "$PWD/dwz-shared" dwz-one dwz-two
	fi
	evil=$(printf 'evil\033[31m\377')
	cp "$src/chain.c" "$evil.c"
	gcc -O2 -g "$evil.c" -o evil-path
	objcopy -g --redefine-sym plain="$evil" chain evil-name
}

part_names() {
	g++ -O2 -g "$src/names.cpp" -o names-gcc
	! have clang++ || clang++ -O2 -g "$src/names.cpp" -o names-clang
}

# Code as a compiler at run time hands it to debuggers.
part_objects() {
	echo 'int alone(void) { return 1; } int main(void) { return alone(); }' |
		gcc -O1 -fno-inline -g -ffreestanding -x c -c -o object.o -
	objcopy --change-section-address .text=0x7f0000001000 object.o \
		object-at-7f00
	objcopy --redefine-sym alone=newer object-at-7f00 newer-at-7f00
}

# Stripped files and the places their debug information may be.
part_files() {
	gcc -O2 -g -shared -fPIC -DLIBRARY "$src/chain.c" -o full.so
	strip -g -o symbols.so full.so
	strip --strip-all -o stripped.so full.so
	objcopy --only-keep-debug full.so full.debug
	id=$(build_id full.so)
	sub=$(printf %.2s "$id")
	mkdir -p byid/.build-id/"$sub" byname bylink/.debug badlink bypath
	cp full.debug byid/.build-id/"$sub/${id#"$sub"}.debug"
	mkdir -p "bycache/$id"
	cp full.debug "bycache/$id/debuginfo"
	cp full.debug byname/stripped.so.debug
	mkdir -p "bypath$dir" && cp full.debug "bypath$dir/stripped.so.debug"
	gcc -O2 -g -shared -fPIC -DLIBRARY -DOTHER "$src/chain.c" \
		-Wl,-soname,other -o other.so
	mkdir -p wrongid/.build-id/"$sub"
	cp other.so wrongid/.build-id/"$sub/${id#"$sub"}.debug"

	# Without a build ID only the checksum of the link can tell.
	gcc -O2 -g -shared -fPIC -DLIBRARY -Wl,--build-id=none \
		"$src/chain.c" -o anonymous.so
	objcopy --only-keep-debug anonymous.so anonymous.debug
	strip --strip-all -o bylink/anonymous.so anonymous.so
	objcopy --add-gnu-debuglink=anonymous.debug bylink/anonymous.so
	cp bylink/anonymous.so badlink/anonymous.so
	cp anonymous.debug bylink/.debug/
	{ cat anonymous.debug && printf x; } >badlink/anonymous.debug

	# The local functions, which .dynsym lacks, compressed into the file.
	if have xz; then
		nm --format=posix --defined-only full.so |
			awk '$2 ~ /^[tT]$/ && $1 !~ /^mark/ { print $1 }' >keep
		objcopy -S --remove-section .comment --keep-symbols=keep \
			full.debug mini
		xz -f mini
		objcopy --add-section .gnu_debugdata=mini.xz stripped.so mini.so
	fi
}

for part; do
	"part_$part"
done
