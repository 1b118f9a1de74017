/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One end of a connection: a queue pair, a completion queue, one registered block of memory. */
#ifndef KEYED_ENDPOINT_H
#define KEYED_ENDPOINT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

#define RECV_BYTES	64		/* of a receive buffer */
#define WRS_PER_REQUEST	3		/* most work requests that a request or an answer takes */

enum placement { PLACEMENT_DEFAULT, PLACEMENT_OFF, PLACEMENT_ON };

struct endpoint {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;		/* receive buffers, then what the caller wants */
	size_t bytes;
	unsigned int recvs;
	uint8_t rd_atomic;		/* READs and atomics under way, each direction */
	bool spin;			/* memory is polled: never sleep on the completion queue */
};

/* A piece of the peer's memory */
struct remote {
	uint64_t addr;
	uint32_t key;
};

void die(const char *what, ...) __attribute__((noreturn, format(printf, 1, 2)));
uint64_t now_ns(void);
enum keyed_variant variant_of(const char *name);
const char *variant_name(enum keyed_variant variant);
enum placement placement_of(const char *name);

/* The next connection manager event, which must be the expected one */
struct rdma_cm_event *endpoint_event(struct endpoint *ep, enum rdma_cm_event_type wanted);
/* Has the connection manager something to say? Once connected: that the peer has gone */
bool endpoint_event_waits(struct endpoint *ep);
/* Queue pair and memory for a resolved or requested id; receives are posted */
void endpoint_open(struct endpoint *ep, size_t bytes, unsigned int depth, enum placement placement);
void endpoint_close(struct endpoint *ep);
void *endpoint_memory(struct endpoint *ep);	/* behind the receive buffers */
void *endpoint_recv_buffer(struct endpoint *ep, uint64_t index);
struct rdma_conn_param endpoint_conn_param(struct endpoint *ep, const void *private, size_t length);

/* May the target of a WRITE be polled? And what does the queue pair do? */
bool endpoint_data_in_order(struct endpoint *ep);
const char *endpoint_placement(struct endpoint *ep);

void post_recv(struct endpoint *ep, uint64_t index);
/* SEND, WRITE, READ; small ones inline, so that their source is free at once */
void post(struct endpoint *ep, enum ibv_wr_opcode opcode, const void *local, uint32_t length,
	  struct remote to, uint32_t imm, uint64_t wr_id, bool signaled);
void post_fetch_add(struct endpoint *ep, uint64_t *result, struct remote to, uint64_t wr_id);
/* A completion, or false when there is none after a while */
bool endpoint_poll(struct endpoint *ep, struct ibv_wc *wc);

#define WR_RECV		(1ULL << 32)	/* wr_id of receives: this and the index */

#endif
