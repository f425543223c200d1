/* SPDX-License-Identifier: MIT */
#include "tracer/control.h"

#include "tracer/state.h"

bool control_start(enum trace_piece_why why)
{
	return state_begin(why);
}

bool control_stop(void)
{
	return state_stop();
}

bool control_toggle(enum trace_piece_why why)
{
	return !control_stop() && control_start(why);
}

void control_flush(void)
{
	state_flush();
}
