// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Time and events for the core. */
#include "objects.h"

void ooo_env_arm(struct ooo_ep *ep, u64 deadline)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	qp->deadline = deadline;
	rxo_qp_arm(qp);
}

/* Whoever holds the lock looks at this before it goes. */
void ooo_env_kick(struct ooo_ep *ep)
{
	set_bit(RXO_PENDING_RESUME, &ep_to_qp(ep)->pending);
}

void ooo_env_event(struct ooo_ep *ep, enum ooo_event event)
{
	struct rxo_qp *qp = ep_to_qp(ep);

	/* IBTA 11.2.5.2: only for a consumer that asked for it in RTS->SQD. */
	if (event == OOO_EVENT_SQ_DRAINED && !qp->sqd_notify)
		return;
	rxo_qp_event(qp, event);
}

void ooo_env_state(struct ooo_ep *ep, enum ooo_state state)
{
	ep_to_qp(ep)->attr.qp_state = (enum ib_qp_state)state;
}
