/* SPDX-License-Identifier: MIT */
/*
 * Call frame information in memory as a loaded module has it, for tests.
 *
 * Takes the place of the loader's index: while an image is placed, every
 * address belongs to it.
 */
#ifndef TESTS_LIB_CFI_IMAGE_H
#define TESTS_LIB_CFI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

enum { CFI_IMAGE_HEADERS = 4096 };

/**
 * struct cfi_image - a page of ELF headers, then two segments
 * @data:   of the segments; `.eh_frame_hdr` is at its start
 * @len:    of it
 * @split:  length of the first segment
 * @gap:    bytes after it that belong to none; reading them is an error that
 *          the address sanitizer sees, as is reading past the end
 */
struct cfi_image {
	uint8_t *data;
	size_t len;
	size_t split;
	size_t gap;
	void *memory;
};

/* Copies @data, @len of it.  @split and @gap are cut to fit. */
void cfi_image_place(struct cfi_image *image, const uint8_t *data, size_t len,
		     size_t split, size_t gap);

void cfi_image_remove(struct cfi_image *image);

/**
 * cfi_image_read() - `.eh_frame_hdr` and `.eh_frame` of a file
 *
 * Return: what lies from the first to the end of the second, at their
 *         distance in memory, for free(); NULL if the file has none.
 */
uint8_t *cfi_image_read(const char *path, size_t *ret_len);

#endif /* TESTS_LIB_CFI_IMAGE_H */
