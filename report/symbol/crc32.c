/* SPDX-License-Identifier: MIT */
/*
 * Debug files have up to a gigabyte, so eight bytes are taken at a time:
 * M. E. Kounavis, F. L. Berry, A Systematic Approach to Building High
 * Performance Software-Based CRC Generators, ISCC 2005.
 */
#include "report/symbol/crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SLICES = 8 };

struct crc_tables {
	uint32_t slice[SLICES][256];
};

static void crc_tables_init(struct crc_tables *tables)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		tables->slice[0][byte] = crc;
	}
	for (int i = 1; i < SLICES; i++)
		for (uint32_t byte = 0; byte < 256; byte++) {
			uint32_t crc = tables->slice[i - 1][byte];

			tables->slice[i][byte] =
			    crc >> 8 ^ tables->slice[0][crc & 0xff];
		}
}

static uint32_t crc_add(const struct crc_tables *tables, uint32_t crc,
			const unsigned char *data, size_t len)
{
	const uint32_t(*slice)[256] = tables->slice;

	crc = ~crc;
	for (; len >= 8; data += 8, len -= 8) {
		uint32_t low, high;

		memcpy(&low, data, 4); /* little-endian hosts only */
		memcpy(&high, data + 4, 4);
		low ^= crc;
		crc = slice[7][low & 0xff] ^ slice[6][low >> 8 & 0xff] ^
		      slice[5][low >> 16 & 0xff] ^ slice[4][low >> 24] ^
		      slice[3][high & 0xff] ^ slice[2][high >> 8 & 0xff] ^
		      slice[1][high >> 16 & 0xff] ^ slice[0][high >> 24];
	}
	for (; len; data++, len--)
		crc = crc >> 8 ^ slice[0][(crc ^ *data) & 0xff];
	return ~crc;
}

uint32_t crc32_update(uint32_t crc, const void *data, size_t len)
{
	struct crc_tables tables;

	crc_tables_init(&tables);
	return crc_add(&tables, crc, data, len);
}

int crc32_file(const char *path, uint32_t *ret_crc)
{
	unsigned char buf[65536];
	struct crc_tables tables;
	uint32_t crc = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	crc_tables_init(&tables);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		crc = crc_add(&tables, crc, buf, (size_t)n);
	close(fd);
	if (n < 0)
		return -EIO;
	*ret_crc = crc;
	return 0;
}
