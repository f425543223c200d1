/* SPDX-License-Identifier: MIT */
#include "report/spec_mistakes.h"

#include <errno.h>

int mistakes_keep(struct mistakes *mistakes, int status)
{
	if (status != -EINVAL)
		return status;
	if (!mistakes->any)
		mistakes->first = mistakes->last;
	else if (mistakes->more)
		findings_add_diag(mistakes->more, &mistakes->last);
	mistakes->any = true;
	return 0;
}

int mistakes_finish(const struct mistakes *mistakes, int status,
		    struct diag *diag)
{
	if (status == 0 && !mistakes->any)
		return 0;
	if (diag)
		*diag = status < 0 ? mistakes->last : mistakes->first;
	return status < 0 ? status : -EINVAL;
}
