/* SPDX-License-Identifier: MIT */
#include "tracer/control.h"

#include "tracer/state.h"

bool control_start(enum trace_piece_why why)
{
	(void)why;
	return state_is_owner();
}

bool control_stop(void)
{
	return false;
}

bool control_toggle(enum trace_piece_why why)
{
	return !control_stop() && control_start(why);
}

void control_flush(void)
{
}
