/* SPDX-License-Identifier: MIT */
/* The decoder of EVENTS alone: the input is the payload of such a chunk. */
#include "tests/fuzz/fuzz_decoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_decoder(&events_coding, data, size);
	return 0;
}
