// SPDX-License-Identifier: MIT
// A C++ library for a C program, which throws through code made at run time:
// the call frame information that it registers must come to its own run-time
// library.
#include <stdexcept>

#include "generated.h"

extern "C" void __register_frame(void *begin);
extern "C" void __deregister_frame(void *begin);

static void fail()
{
	throw std::runtime_error("through generated code");
}

extern "C" int plugin_run(int rounds)
{
	auto *code = static_cast<uint8_t *>(
	    generate_map(PROT_READ | PROT_WRITE | PROT_EXEC));
	auto *records =
	    static_cast<uint8_t *>(generate_map(PROT_READ | PROT_WRITE));
	auto function = reinterpret_cast<generated_function>(code);
	int caught = 0;

	for (int i = 0; i < rounds; i++) {
		uint32_t frame_bytes = i % 2 ? 128 : 608;

		generate_code(code, frame_bytes);
		generate_frames(records, code, frame_bytes);
		__register_frame(records);
		try {
			function(fail);
		} catch (const std::runtime_error &) {
			caught++;
		}
		__deregister_frame(records);
	}
	munmap(records, GENERATED_BYTES);
	munmap(code, GENERATED_BYTES);
	return caught;
}
