/* SPDX-License-Identifier: MIT */
/*
 * Formatting works on integers only: printf("%f") and strtod() follow the
 * locale, and halves would be rounded by the platform's taste.
 */
#include "report/core/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

__extension__ typedef unsigned __int128 wide;

size_t units_format_decimal(char *buf, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits), len;

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	len = sizeof(digits) - at;
	memcpy(buf, digits + at, len);
	buf[len] = '\0';
	return len;
}

static uint64_t round_divide(wide value, wide divisor)
{
	return (uint64_t)((value + divisor / 2) / divisor);
}

/* A short text that grows at its end: printf() takes ten times as long to put
   three of these together, and a report has hundreds of thousands. */
struct text {
	char bytes[2 * UNITS_TEXT_SIZE];
	size_t len;
};

static void text_add(struct text *text, const char *more)
{
	size_t len = strlen(more);

	if (len > sizeof(text->bytes) - 1 - text->len)
		len = sizeof(text->bytes) - 1 - text->len;
	memcpy(text->bytes + text->len, more, len);
	text->len += len;
}

static void text_add_decimal(struct text *text, uint64_t value)
{
	char digits[UNITS_TEXT_SIZE];

	units_format_decimal(digits, value);
	text_add(text, digits);
}

/* "1.05": @scaled / 10^@places, with all places. */
static void text_add_fixed(struct text *text, uint64_t scaled, unsigned places)
{
	uint64_t scale = places == 2 ? 100 : 10;
	char fraction[] = { '.', '0', '0', '\0' };

	text_add_decimal(text, scaled / scale);
	scaled %= scale;
	if (places == 2)
		fraction[1] = (char)('0' + scaled / 10);
	fraction[places] = (char)('0' + scaled % 10);
	fraction[places + 1] = '\0';
	text_add(text, fraction);
}

/* What does not fit is left out, as snprintf() would. */
static void text_copy(const struct text *text, char *buf, size_t size)
{
	size_t len = text->len;

	if (!size)
		return;
	if (len >= size)
		len = size - 1;
	memcpy(buf, text->bytes, len);
	buf[len] = '\0';
}

/*
 * Three significant digits of @value / @unit: "1.23", "12.3", "123".
 * Return: the rounded quotient's integer part.
 */
static uint64_t add_three_digits(struct text *text, wide value, wide unit)
{
	uint64_t hundredths = round_divide(value * 100, unit);
	uint64_t tenths = round_divide(value * 10, unit);
	uint64_t ones = round_divide(value, unit);

	if (hundredths < 1000) {
		text_add_fixed(text, hundredths, 2);
		return hundredths / 100;
	}
	if (tenths < 1000) {
		text_add_fixed(text, tenths, 1);
		return tenths / 10;
	}
	text_add_decimal(text, ones);
	return ones;
}

void units_format_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char *const names[] = { " KiB", " MiB", " GiB",
					     " TiB", " PiB", " EiB" };
	enum { LAST = sizeof(names) / sizeof(names[0]) - 1 };
	struct text text = { .len = 0 };
	size_t i = 0;

	if (bytes < 1024) {
		text_add_decimal(&text, bytes);
		text_add(&text, " B");
		text_copy(&text, buf, size);
		return;
	}
	while (add_three_digits(&text, bytes, (wide)1 << 10 * (i + 1)) >=
		       1024 &&
	       i < LAST) {
		text.len = 0;
		i++;
	}
	text_add(&text, names[i]);
	text_copy(&text, buf, size);
}

void units_trim_zeros(char *text)
{
	char *point = strchr(text, '.');
	char *rest, *end;

	if (!point)
		return;
	rest = point + 1 + strspn(point + 1, "0123456789");
	for (end = rest; end[-1] == '0'; end--)
		;
	end -= end[-1] == '.';
	memmove(end, rest, strlen(rest) + 1);
}

void units_format_count(char *buf, size_t size, uint64_t count)
{
	char plain[UNITS_TEXT_SIZE];
	size_t len = units_format_decimal(plain, count), out = 0;

	for (size_t i = 0; i < len && out + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = plain[i];
	}
	if (size)
		buf[out] = '\0';
}

enum { NS_PER_US = 1000, NS_PER_MS = 1000000 };
#define NS_PER_S UINT64_C(1000000000)

/* "1.23" of @ns in @unit_ns. Return: whether that reads below @limit. */
static bool format_below(char *digits, size_t size, uint64_t ns,
			 uint64_t unit_ns, uint64_t limit)
{
	struct text text = { .len = 0 };
	uint64_t ones = add_three_digits(&text, ns, unit_ns);

	text_copy(&text, digits, size);
	return ones < limit;
}

static void format_ns(char *buf, size_t size, const char *sign, uint64_t ns)
{
	char digits[UNITS_TEXT_SIZE / 2];
	uint64_t seconds = round_divide(ns, NS_PER_S);
	uint64_t minutes = round_divide(ns, 60 * NS_PER_S);
	size_t n = sizeof(digits);

	if (ns == 0)
		snprintf(buf, size, "0 s");
	else if (ns < NS_PER_US)
		snprintf(buf, size, "%s%u ns", sign, (unsigned)ns);
	else if (format_below(digits, n, ns, NS_PER_US, 1000))
		snprintf(buf, size, "%s%s µs", sign, digits);
	else if (format_below(digits, n, ns, NS_PER_MS, 1000))
		snprintf(buf, size, "%s%s ms", sign, digits);
	else if (format_below(digits, n, ns, NS_PER_S, 60))
		snprintf(buf, size, "%s%s s", sign, digits);
	else if (seconds < 3600)
		snprintf(buf, size, "%s%u min %02u s", sign,
			 (unsigned)(seconds / 60), (unsigned)(seconds % 60));
	else
		snprintf(buf, size, "%s%" PRIu64 " h %02u min", sign,
			 minutes / 60, (unsigned)(minutes % 60));
}

void units_format_seconds(char *buf, size_t size, double seconds)
{
	double magnitude = fabs(seconds);

	if (isnan(seconds))
		snprintf(buf, size, "?");
	else if (magnitude >= 9e9) /* 285 years: ns would not fit */
		snprintf(buf, size, "%s285 years", seconds < 0 ? "<-" : ">");
	else
		format_ns(buf, size, seconds < 0 ? "-" : "",
			  (uint64_t)(magnitude * 1e9 + 0.5));
}

static void format_large_percent(char *buf, size_t size, double percent)
{
	char digits[UNITS_TEXT_SIZE / 2];

	if (percent > 1e15)
		percent = 1e15;
	units_format_count(digits, sizeof(digits), (uint64_t)(percent + 0.5));
	snprintf(buf, size, "%s %%", digits);
}

static void format_share(char *buf, size_t size, const char *sign,
			 double scaled, unsigned places)
{
	struct text text = { .len = 0 };

	text_add(&text, sign);
	text_add_fixed(&text, (uint64_t)(scaled + 0.5), places);
	text_add(&text, " %");
	text_copy(&text, buf, size);
}

/* Neither a small share reads as nothing nor a large one as everything. */
void units_format_ratio(char *buf, size_t size, double ratio)
{
	double percent = ratio * 100;
	const char *sign = ratio < 0 ? "-" : "";

	percent = fabs(percent);
	if (isnan(percent))
		snprintf(buf, size, "?");
	else if (percent <= 0)
		snprintf(buf, size, "0 %%");
	else if (percent < 0.01)
		snprintf(buf, size, *sign ? ">-0.01 %%" : "<0.01 %%");
	else if (percent < 100 && percent >= 99.95)
		snprintf(buf, size, *sign ? "<-99.9 %%" : ">99.9 %%");
	else if (percent < 9.995)
		format_share(buf, size, sign, percent * 100, 2);
	else if (percent < 100)
		format_share(buf, size, sign, percent * 10, 1);
	else {
		if (size)
			snprintf(buf, size, "%s", sign);
		size_t used = size ? strlen(buf) : 0;

		format_large_percent(buf + used, size - used, percent);
	}
}

/*
 * Days to civil date: H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms", civil_from_days; years from 1970 to 2554 here.
 */
void units_format_date(char *buf, size_t size, uint64_t realtime_ns)
{
	uint64_t seconds = realtime_ns / NS_PER_S;
	unsigned ns = (unsigned)(realtime_ns % NS_PER_S);
	unsigned in_day = (unsigned)(seconds % 86400);
	unsigned days = (unsigned)(seconds / 86400) + 719468;
	unsigned era = days / 146097;
	unsigned doe = days % 146097;
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;
	unsigned day = doy - (153 * mp + 2) / 5 + 1;
	unsigned month = mp < 10 ? mp + 3 : mp - 9;
	unsigned year = yoe + era * 400 + (month <= 2);

	snprintf(buf, size, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", year, month,
		 day, in_day / 3600, in_day / 60 % 60, in_day % 60, ns);
}

/* --- reading ------------------------------------------------------------ */

/* A decimal number: @digits / 10^@places. */
struct decimal {
	uint64_t digits;
	unsigned places;
};

static const char *skip_blanks(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * "12", "1.5", ".5".  More places than 9 are read and dropped.
 * Return: what follows, NULL if there is no number or it is above 2^64 / 10.
 */
static const char *read_decimal(const char *text, struct decimal *ret)
{
	enum { PLACES_MAX = 9 };
	bool any = false;

	*ret = (struct decimal){ 0 };
	for (; is_digit(*text); text++, any = true)
		if (__builtin_mul_overflow(ret->digits, 10, &ret->digits) ||
		    __builtin_add_overflow(ret->digits, (uint64_t)(*text - '0'),
					   &ret->digits))
			return NULL;
	if (*text != '.')
		return any ? text : NULL;
	for (text++; is_digit(*text); text++, any = true) {
		uint64_t more;

		if (ret->places == PLACES_MAX ||
		    __builtin_mul_overflow(ret->digits, 10, &more) ||
		    __builtin_add_overflow(more, (uint64_t)(*text - '0'),
					   &more))
			continue;
		ret->digits = more;
		ret->places++;
	}
	return any ? text : NULL;
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

static double decimal_value(const struct decimal *decimal)
{
	return (double)decimal->digits / (double)power_of_ten(decimal->places);
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool parse_hex(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		int digit = hex_digit(*text);

		if (digit < 0 || value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return true;
}

bool units_parse_integer(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return parse_hex(text + 2, ret);
	if (!*text)
		return false;
	for (; *text; text++)
		if (!is_digit(*text) ||
		    __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'),
					   &value))
			return false;
	*ret = value;
	return true;
}

/* Return: bytes in one @unit, 0 if there is no such unit. */
static uint64_t byte_unit(const char *unit)
{
	static const char letters[] = "kmgt";
	uint64_t binary = 1, decimal = 1;

	if (!*unit || strcasecmp(unit, "b") == 0)
		return 1;
	for (const char *letter = letters; *letter; letter++) {
		binary *= 1024;
		decimal *= 1000;
		if ((unit[0] | 0x20) != *letter)
			continue;
		if (!unit[1] || strcasecmp(unit + 1, "ib") == 0)
			return binary;
		return strcasecmp(unit + 1, "b") == 0 ? decimal : 0;
	}
	return 0;
}

bool units_parse_bytes(const char *text, uint64_t *ret)
{
	struct decimal decimal;
	const char *unit;
	uint64_t factor;
	wide bytes;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return parse_hex(text + 2, ret);
	unit = read_decimal(text, &decimal);
	factor = unit ? byte_unit(skip_blanks(unit)) : 0;
	if (!factor || (factor == 1 && decimal.places))
		return false;
	bytes = (wide)decimal.digits * factor / power_of_ten(decimal.places);
	if (bytes > UINT64_MAX)
		return false;
	*ret = (uint64_t)bytes;
	return true;
}

struct time_unit {
	const char *name;
	uint64_t ns;
};

/* Falling, so that "1h30m" is read and "30m1h" is not. */
static const struct time_unit time_units[] = {
	{ "d", 86400 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	{ "min", 60 * NS_PER_S },  { "m", 60 * NS_PER_S },
	{ "s", NS_PER_S },	   { "ms", NS_PER_MS },
	{ "us", NS_PER_US },	   { "µs", NS_PER_US },
	{ "ns", 1 },
};

enum {
	TIME_UNIT_COUNT = sizeof(time_units) / sizeof(time_units[0]),
	SECONDS = 4, /* its index */
};

/* Return: index of the unit whose name is the letters at @text, or -1. */
static int time_unit_find(const char *text, size_t *ret_len)
{
	size_t len = 0;

	while (text[len] && !is_digit(text[len]) && text[len] != ' ' &&
	       text[len] != '.')
		len++;
	*ret_len = len;
	for (int i = 0; i < TIME_UNIT_COUNT; i++)
		if (strlen(time_units[i].name) == len &&
		    strncasecmp(time_units[i].name, text, len) == 0)
			return i;
	return -1;
}

static wide decimal_ns(const struct decimal *decimal, uint64_t unit_ns)
{
	wide divisor = power_of_ten(decimal->places);

	return ((wide)decimal->digits * unit_ns + divisor / 2) / divisor;
}

/* Adds up whole nanoseconds: however a time is written, it is one number. */
bool units_parse_seconds(const char *text, double *ret)
{
	wide ns = 0;
	int previous = -1;

	do {
		struct decimal decimal;
		size_t len;
		int unit;

		text = read_decimal(text, &decimal);
		if (!text)
			return false;
		text = skip_blanks(text);
		if (!*text && previous < SECONDS) {
			ns += decimal_ns(&decimal, NS_PER_S);
			break;
		}
		unit = time_unit_find(text, &len);
		if (unit <= previous)
			return false;
		ns += decimal_ns(&decimal, time_units[unit].ns);
		previous = unit;
		text = skip_blanks(text + len);
	} while (*text);
	*ret = (double)ns / (double)NS_PER_S;
	return true;
}

static bool parse_percent(const char *text, struct decimal *ret)
{
	text = read_decimal(text, ret);
	return text && strcmp(skip_blanks(text), "%") == 0;
}

bool units_parse_percent(const char *text, double *ret)
{
	struct decimal decimal;

	if (!parse_percent(text, &decimal))
		return false;
	*ret = decimal_value(&decimal) / 100;
	return true;
}

bool units_parse_percent_exact(const char *text, uint64_t *ret_digits,
			       unsigned *ret_places)
{
	struct decimal decimal;

	if (!parse_percent(text, &decimal))
		return false;
	*ret_digits = decimal.digits;
	*ret_places = decimal.places;
	return true;
}
