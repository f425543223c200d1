/* SPDX-License-Identifier: MIT */
/*
 * The checksum of debug links.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_CRC32_H
#define REPORT_SYMBOL_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of IEEE 802.3 over @len bytes; @crc is 0 or the result so far. */
uint32_t crc32_update(uint32_t crc, const void *data, size_t len);

/* Return: 0, negative errno; *@ret_crc is written on success. */
int crc32_file(const char *path, uint32_t *ret_crc);

#endif /* REPORT_SYMBOL_CRC32_H */
