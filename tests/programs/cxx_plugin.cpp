// SPDX-License-Identifier: MIT
// A C++ library for a C program: it brings its own run-time library.
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int plugin_run(int rounds)
{
	int caught = 0;

	for (int i = 0; i < rounds; i++) {
		std::vector<std::string> v(3, std::string(997, 'x'));
		try {
			if (v.at(i % 4).empty())
				return -1;
		} catch (const std::out_of_range &) {
			caught++;
		}
	}
	return caught;
}
