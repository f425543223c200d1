/* SPDX-License-Identifier: MIT */
#include "tracer/values.h"

#include <stddef.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define SECONDS_MAX_NS (UINT64_C(100000000) * NS_PER_SECOND)

enum {
	PLACES_MAX = 9, /* of a fraction */
};

/* Safety: pure. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Safety: pure.  Reads digits, at most up to @end.  Return: what is behind
   them; NULL where the number is too large. */
static const char *read_digits(const char *p, const char *end, uint64_t *ret)
{
	*ret = 0;
	for (; p < end && is_digit(*p); p++)
		if (__builtin_mul_overflow(*ret, 10u, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(*p - '0'), ret))
			return NULL;
	return p;
}

bool values_parse_number(const char *value, uint64_t max, uint64_t *ret)
{
	const char *end = value + strlen(value);
	uint64_t n;

	if (!*value || read_digits(value, end, &n) != end || n > max)
		return false;
	*ret = n;
	return true;
}

bool values_parse_seconds(const char *value, uint64_t *ret_ns)
{
	uint64_t ns = 0, digit_ns = NS_PER_SECOND;
	bool has_point = false;

	for (; *value; value++) {
		uint64_t digit = (uint64_t)(*value - '0');

		if (*value == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (!is_digit(*value) || ns > SECONDS_MAX_NS)
			return false;
		if (has_point)
			digit_ns /= 10;
		else
			ns *= 10;
		ns += digit * digit_ns;
	}
	if (!ns)
		return false;
	*ret_ns = ns;
	return true;
}

/**
 * struct unit - of a size, in bytes, or of a time, in nanoseconds
 */
struct unit {
	const char *name;
	bool is_time;
	uint64_t factor;
};

static const struct unit units[] = {
	{"", false, 1},
	{"B", false, 1},
	{"k", false, 1 << 10},
	{"K", false, 1 << 10},
	{"KiB", false, 1 << 10},
	{"kB", false, 1000},
	{"M", false, 1 << 20},
	{"MiB", false, 1 << 20},
	{"MB", false, 1000000},
	{"G", false, 1 << 30},
	{"GiB", false, 1 << 30},
	{"GB", false, 1000000000},
	{"T", false, UINT64_C(1) << 40},
	{"TiB", false, UINT64_C(1) << 40},
	{"TB", false, UINT64_C(1000000000000)},
	{"s", true, NS_PER_SECOND},
	{"m", true, 60 * NS_PER_SECOND},
	{"min", true, 60 * NS_PER_SECOND},
	{"h", true, 3600 * NS_PER_SECOND},
	{"d", true, 86400 * NS_PER_SECOND},
};

/* Safety: pure.  Return: the unit of @len bytes, or NULL. */
static const struct unit *find_unit(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len &&
		    memcmp(units[i].name, name, len) == 0)
			return &units[i];
	return NULL;
}

/* Safety: pure.  @fraction / 10^@places of @factor, rounded down. */
static uint64_t take_part(uint64_t factor, uint64_t fraction, ptrdiff_t places)
{
	uint64_t whole = 1;

	while (places-- > 0)
		whole *= 10;
	return fraction * (factor / whole) +
	       fraction * (factor % whole) / whole;
}

/* Safety: pure.  A number above 0 and a unit.  Return: whether what is up to @end
   is that, the first of its kind. */
static bool parse_amount(const char *value, const char *end,
			 struct rotate *ret)
{
	uint64_t amount, fraction = 0;
	const char *p = read_digits(value, end, &amount), *point = p;
	const struct unit *unit;
	ptrdiff_t places = 0;
	uint64_t *place;

	if (!p || p == value)
		return false;
	if (p < end && *p == '.') {
		p = read_digits(p + 1, end, &fraction);
		places = p ? p - point - 1 : 0;
		if (places < 1 || places > PLACES_MAX)
			return false;
	}
	unit = find_unit(p, (size_t)(end - p));
	if (!unit || (places && unit->factor == 1) ||
	    __builtin_mul_overflow(amount, unit->factor, &amount) ||
	    __builtin_add_overflow(
		amount, take_part(unit->factor, fraction, places), &amount))
		return false;
	place = unit->is_time ? &ret->ns : &ret->bytes;
	if (!amount || *place)
		return false;
	*place = amount;
	return true;
}

bool values_parse_rotate(const char *value, struct rotate *ret)
{
	struct rotate rotate = {0};
	bool more = true;

	while (more) {
		size_t len = strcspn(value, ",");

		if (!parse_amount(value, value + len, &rotate))
			return false;
		more = value[len] == ',';
		value += len + more;
	}
	*ret = rotate;
	return true;
}

static const char *const levels[] = {
	[LOG_OFF] = "off",   [LOG_ERROR] = "error", [LOG_WARN] = "warn",
	[LOG_INFO] = "info", [LOG_DEBUG] = "debug", [LOG_TRACE] = "trace",
};

bool values_parse_level(const char *value, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(value, levels[i]) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	return false;
}

const char *values_get_level(enum log_level level)
{
	return levels[level];
}
