/* SPDX-License-Identifier: MIT */
/*
 * Call sites without a function name: how much is theirs, which modules they are
 * in, and what would give them names.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/sites_data.h"
#include "report/core/text.h"
#include "report/core/units.h"
#include "report/core/vec.h"

/* Modules that the note names. */
enum { NAMED_MAX = 3 };

/* From this share of all allocated bytes on it is a warning. */
static const double warning_ratio = 0.1;

/* @name: of a module, as its frames have it; equal names, one string or more */
struct unnamed_module {
	const char *name;
	uint64_t bytes;
};

struct unnamed {
	struct {
		struct unnamed_module *items;
		size_t count;
		size_t capacity;
	} modules;
	size_t site_count;
	size_t all_count;
	uint64_t bytes;
};

/* Return: what is known of the file of frames in @module; NULL if nothing is. */
static const struct symbol_module_status *status_find(const struct scope *scope,
						      const char *module)
{
	size_t count;
	const struct symbol_module_status *rows =
		symbols_module_status(scope->symbols, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(text_basename(rows[i].module->name), module) == 0)
			return &rows[i];
	return NULL;
}

static bool module_add(struct unnamed *unnamed, const char *name,
		       uint64_t bytes)
{
	struct unnamed_module *slot;

	for (size_t i = 0; i < unnamed->modules.count; i++) {
		slot = &unnamed->modules.items[i];
		if (strcmp(slot->name, name) != 0)
			continue;
		slot->bytes += bytes;
		return true;
	}
	slot = vec_push(&unnamed->modules);
	if (slot)
		*slot = (struct unnamed_module){ name, bytes };
	return slot != NULL;
}

/* What is in no module has no file that could tell names, and of what was
   rebuilt another note speaks. */
static bool unnamed_gather(struct unnamed *unnamed, const struct sites *sites,
			   const struct scope *scope)
{
	for (size_t i = 0; i < sites->rows.count; i++) {
		const struct site *site = &sites->rows.items[i];
		const struct symbol_module_status *status;

		unnamed->all_count += site->frame != NULL;
		if (!site->frame || site->frame->quality != SYMBOL_MODULE)
			continue;
		status = status_find(scope, site->frame->module);
		if (!status || status->is_rebuilt)
			continue;
		unnamed->site_count++;
		unnamed->bytes += site->cost[SITE_ALLOCATED_BYTES];
		if (!module_add(unnamed, site->frame->module,
				site->cost[SITE_ALLOCATED_BYTES]))
			return false;
	}
	return true;
}

static int by_bytes(const void *a, const void *b)
{
	const struct unnamed_module *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Return: " (build ID 0123…)", "" if there is none; NULL when out of memory. */
static const char *build_id_text(const struct scope *scope, const char *module)
{
	const struct symbol_module_status *status = status_find(scope, module);
	const char *text = " (build ID ";
	size_t len = status ? status->module->build_id_len : 0;

	if (!len)
		return "";
	for (size_t i = 0; i < len && text; i++)
		text = arena_printf(scope->arena, "%s%02x", text,
				    status->module->build_id[i]);
	return text ? arena_printf(scope->arena, "%s)", text) : NULL;
}

/* Return: "a (build ID …), b and 2 more"; NULL when out of memory. */
static const char *modules_text(struct unnamed *unnamed,
				const struct scope *scope)
{
	size_t count = unnamed->modules.count;
	const char *text = "";

	qsort(unnamed->modules.items, count, sizeof(*unnamed->modules.items),
	      by_bytes);
	for (size_t i = 0; i < count && i < NAMED_MAX && text; i++) {
		const char *name = unnamed->modules.items[i].name;
		const char *id = build_id_text(scope, name);

		text = id ? arena_printf(scope->arena, "%s%s%s%s", text,
					 !i		  ? ""
					 : i + 1 == count ? " and "
							  : ", ",
					 name, id)
			  : NULL;
	}
	if (count > NAMED_MAX && text)
		text = arena_printf(scope->arena, "%s and %zu more", text,
				    count - NAMED_MAX);
	return text;
}

/* Return: "6 of 42 call sites, with 91.2 % of the allocated bytes, have no function
   name"; NULL when out of memory. */
static const char *share_text(const struct unnamed *unnamed,
			      const struct scope *scope, double ratio)
{
	char some[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];
	char share[UNITS_TEXT_SIZE];

	units_format_count(some, sizeof(some), unnamed->site_count);
	units_format_count(all, sizeof(all), unnamed->all_count);
	units_format_ratio(share, sizeof(share), ratio);
	return arena_printf(scope->arena,
			    "%s of %s call sites, with %s of the allocated "
			    "bytes, %s no function name",
			    some, all, share,
			    unnamed->site_count == 1 ? "has" : "have");
}

static bool texts_make(struct unnamed *unnamed, const struct sites *sites,
		       const struct scope *scope, struct sites_unnamed *ret)
{
	double ratio = scope_ratio(unnamed->bytes,
				   sites->total.cost[SITE_ALLOCATED_BYTES]);
	const char *share = share_text(unnamed, scope, ratio);
	const char *modules = modules_text(unnamed, scope);
	bool is_bad = ratio >= warning_ratio;

	if (!share || !modules)
		return false;
	ret->note = scope_note(
		scope, is_bad ? "unnamed" : "unnamed_few",
		is_bad ? FIGURE_WARNING : FIGURE_INFO,
		arena_printf(scope->arena,
			     "%s: there are no debug symbols here for %s. For "
			     "names, install the debug packages of these files "
			     "(-dbgsym, -debuginfo), or fetch them with "
			     "\xe2\x80\x9c"
			     "debuginfod-find debuginfo BUILD-ID"
			     "\xe2\x80\x9d where DEBUGINFOD_URLS is set, and "
			     "write the report again with --debug-dir "
			     "~/.cache/debuginfod_client",
			     share, modules));
	if (is_bad)
		ret->line = arena_printf(scope->arena,
					 "%s, most of them in %s; the report's "
					 "head says what would name them",
					 share, unnamed->modules.items[0].name);
	return ret->note && (ret->line || !is_bad);
}

bool sites_unnamed(const struct sites *sites, const struct scope *scope,
		   struct sites_unnamed *ret)
{
	struct unnamed unnamed = { 0 };
	bool is_good = unnamed_gather(&unnamed, sites, scope);

	*ret = (struct sites_unnamed){ 0 };
	if (is_good && unnamed.site_count)
		is_good = texts_make(&unnamed, sites, scope, ret);
	vec_done(&unnamed.modules);
	return is_good;
}
