/* SPDX-License-Identifier: MIT */
#include "report/event/event.h"

const char *event_call_name(enum event_call call)
{
	static const char *const names[CALL_COUNT] = {
		[CALL_NONE] = "",
		[CALL_MALLOC] = "malloc",
		[CALL_CALLOC] = "calloc",
		[CALL_MEMALIGN] = "memalign",
		[CALL_NEW] = "operator new",
		[CALL_FREE] = "free",
		[CALL_DELETE] = "operator delete",
		[CALL_REALLOC] = "realloc",
	};

	return call < CALL_COUNT ? names[call] : "";
}
