/* SPDX-License-Identifier: MIT */
/*
 * Filters of system calls that the program installs for itself (seccomp).
 *
 * They bind the tracer's calls in the program's threads as well, and one that
 * it is killed for would kill the program at an allocation.  So filters are
 * read as they are installed, and asked before every call of ours (sys.h).
 * The helper is outside of those that come after it, and does for the threads
 * what they may not (helper_call()).
 *
 * A filter from before the program was executed is not known.  Nor is one
 * installed without the C library.
 */
#ifndef TRACER_FILTERS_H
#define TRACER_FILTERS_H

#include <linux/filter.h>
#include <stdbool.h>

/* A filter refuses, or kills for, calls that the tracer's work is made of: as
   much of it as can be is the helper's.  Never false again. */
extern bool filters_hinder;

/* Nor does futex() wake the helper, which has to look by itself. */
extern bool filters_hinder_wake;

/**
 * filters_add() - a filter is about to be installed by the calling thread
 * @program: the program's; where it cannot be read all calls are refused
 * @all_threads: it is to bind them all; otherwise those that are there stay
 *          as they are
 *
 * Safety: anywhere.  Allocates: mmap.  Locks: its own.  errno: untouched.
 *
 * Return: for filters_take_back().
 */
unsigned filters_add(const struct sock_fprog *program, bool all_threads);

/* The kernel did not want it.  Safety: anywhere. */
void filters_take_back(unsigned index);

/*
 * The same in a process that only borrows the memory of the one that the trace
 * is of, as a vfork() child does: it makes no call of ours from then on, be it
 * allowed or not.  Its parent is not bound: the note is gone when the child is,
 * or executes.
 *
 * Safety: such a process.  errno: untouched.
 * Return: whether it could be noted, for filters_take_back_child().
 */
bool filters_add_child(void);
void filters_take_back_child(void);

/* Return: the calling process's id if it is one of those, or 0.  No system
   call.  Safety: anywhere. */
int filters_child_pid(void);

/* The notes are of other processes.  Safety: child of fork(), single thread. */
void filters_after_fork(void);

/* The helper that is about to be made has the filters of the thread that makes
   it.  Safety: anywhere. */
void filters_bind_helper(void);

/* Whether the calling thread would be killed, or anybody asked, for the system
   call of number @call[0] and these arguments.  Safety: anywhere. */
bool filters_forbid(const long call[7]);

#endif /* TRACER_FILTERS_H */
