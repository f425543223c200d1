/* SPDX-License-Identifier: MIT */
#include "report/input/foreign.h"

#include <stdbool.h>
#include <string.h>

#include "tracer/trace_format.h"

/* Files that start with fixed bytes. */
static const struct {
	const char *magic;
	size_t len;
	const char *what;
} signatures[] = {
    {TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN,
     "the .live file beside a memprof trace: give the trace's name without "
     ".live"},
    {"\x1f\x8b", 2,
     "a gzip-compressed file: decompress it first, e.g. gzip -dc FILE | "
     "memprof-report -"},
    {"\x28\xb5\x2f\xfd", 4,
     "a zstd-compressed file: decompress it first, e.g. zstd -dc FILE | "
     "memprof-report -"},
    {"\xfd"
     "7zXZ",
     5,
     "an xz-compressed file: decompress it first, e.g. xz -dc FILE | "
     "memprof-report -"},
    {"BZh", 3, "a bzip2-compressed file"},
    {"PK\x03\x04", 4, "a zip archive"},
    {"\x7f"
     "ELF",
     4,
     "an ELF file, a program or library: give the trace that was written "
     "while it ran"},
    {"PERFILE2", 8, "data of perf record"},
    {"SQLite format 3", 16, "a SQLite database"},
    {"desc: ", 6, "output of valgrind's massif"},
    {"{\"dhatFileVersion\"", 18, "output of valgrind's DHAT"},
    {"<!DOCTYPE", 9, "an HTML page"},
    {"<?xml", 5, "an XML file"},
};

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* heaptrack's text: "v 10500 3\n", the version and the format in hexadecimal;
   written compressed by default. */
static bool is_heaptrack(const uint8_t *head, size_t len)
{
	size_t i = 2, digits = 0;

	if (len < 4 || head[0] != 'v' || head[1] != ' ')
		return false;
	for (; i < len && is_hex(head[i]); i++)
		digits++;
	return digits >= 4 && i < len && (head[i] == ' ' || head[i] == '\n');
}

/* bytehound's .dat has no magic: a block header of one byte (1 LZ4, 2 stored)
   and a little-endian length, then the header event's tag, 0, behind an LZ4
   token if compressed. */
static bool is_bytehound(const uint8_t *head, size_t len)
{
	uint32_t block_len;
	size_t at = 5;

	if (len < 16 || (head[0] != 1 && head[0] != 2))
		return false;
	memcpy(&block_len, head + 1, sizeof(block_len));
	if (block_len < 16 || block_len > 2u << 20)
		return false;
	if (head[0] == 1) {
		/* The token, and further bytes of a long literal run. */
		if (head[at] >> 4 == 15)
			while (++at + 5 < len && head[at] == 255)
				;
		at++;
	}
	return at + 4 <= len && memcmp(head + at, "\0\0\0\0", 4) == 0;
}

static bool is_text(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((head[i] < 0x20 && !strchr("\t\n\r\f\033", head[i])) ||
		    head[i] == 0 || head[i] == 0x7f)
			return false;
	return true;
}

static bool is_zero(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (head[i])
			return false;
	return true;
}

const char *foreign_signed(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
		if (len >= signatures[i].len &&
		    memcmp(head, signatures[i].magic, signatures[i].len) == 0)
			return signatures[i].what;
	return NULL;
}

const char *foreign_describe(const uint8_t *head, size_t len)
{
	const char *what = foreign_signed(head, len);

	if (what)
		return what;
	if (is_heaptrack(head, len))
		return "heaptrack data";
	if (is_bytehound(head, len))
		return "bytehound data";
	if (is_zero(head, len))
		return "a file that was never written: it starts with zeros";
	if (is_text(head, len))
		return "text";
	return "binary data of another kind";
}
