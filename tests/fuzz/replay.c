/* SPDX-License-Identifier: MIT */
/* replay FILE... - run a fuzz target on saved inputs, with any compiler. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

static void replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t len = 0, n;

	if (!file) {
		perror(path);
		exit(1);
	}
	do {
		data = realloc(data, len + 65536);
		if (!data)
			abort();
		n = fread(data + len, 1, 65536, file);
		len += n;
	} while (n);
	fclose(file);
	LLVMFuzzerTestOneInput(data, len);
	free(data);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%d inputs\n", argc - 1);
	return 0;
}
