/* SPDX-License-Identifier: MIT */
/*
 * Quantities as people write and read them.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_UNITS_H
#define REPORT_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for any of the units_format_*(). */
#define UNITS_TEXT_SIZE 48

/* "0 B", "512 B", "1.50 KiB", "12.3 MiB", "123 GiB": three significant
   digits, 1024-based. */
void units_format_bytes(char *buf, size_t size, uint64_t bytes);

/* "1.00 KiB" becomes "1 KiB", in place: for values that are exact. */
void units_trim_zeros(char *text);

/* "1234567"; @buf has room for UNITS_TEXT_SIZE.  Return: how many digits.  For
   what is written many times: snprintf() takes ten times as long. */
size_t units_format_decimal(char *buf, uint64_t value);

/* "1,234,567". */
void units_format_count(char *buf, size_t size, uint64_t count);

/* "0 s", "12.3 µs", "45.6 ms", "1.23 s", "2 min 03 s", "1 h 02 min". */
void units_format_seconds(char *buf, size_t size, double seconds);

/* "12.3 %", "0.05 %", "<0.01 %", "0 %", "100 %". */
void units_format_ratio(char *buf, size_t size, double ratio);

/* "2026-11-21T01:02:03.123456789Z". */
void units_format_date(char *buf, size_t size, uint64_t realtime_ns);

/* "4096", "64KiB", "10MB", "1.5 GiB", "0x1000".  KiB, MiB, GiB, TiB (and K,
   M, G, T) are 1024-based, KB, MB, GB, TB 1000-based, case ignored.
   Return: whether @text is one, whole. */
bool units_parse_bytes(const char *text, uint64_t *ret);

/* "1.5", "1.5s", "250ms", "10us", "5ns", "2m", "1h", "3d", "1h30m", "2h3".  No
   unit, at the end, is seconds.  Rounded to nanoseconds: "1.5us" and "1us500ns"
   are equal. */
bool units_parse_seconds(const char *text, double *ret);

/* "12.5%" -> 0.125.  Any number of percent from 0 on. */
bool units_parse_percent(const char *text, double *ret);

/* "12.5%" -> 125, 1: @ret_digits / 10^@ret_places percent.  At most 9 places
   are kept. */
bool units_parse_percent_exact(const char *text, uint64_t *ret_digits,
			       unsigned *ret_places);

/* Decimal or 0x hex. */
bool units_parse_integer(const char *text, uint64_t *ret);

#endif /* REPORT_CORE_UNITS_H */
