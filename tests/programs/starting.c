/* SPDX-License-Identifier: MIT */
/* Starts the programs that its arguments name, one after the other, in the
   directory sub where there is one, and does not care how they end. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		pid_t child = fork();

		if (child == 0 && (chdir("sub") == 0 || errno == ENOENT)) {
			execl(argv[i], argv[i], (char *)NULL);
			_exit(127);
		}
		if (child == 0)
			_exit(1);
		if (waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}
