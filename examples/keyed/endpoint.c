// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections, memory, posting and polling: what initiator and target share. */
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_RXE_OOODV
#include <infiniband/rxe_ooodv.h>
#endif

#define INLINE_BYTES	64

void die(const char *what, ...)
{
	va_list args;

	va_start(args, what);
	vfprintf(stderr, what, args);
	va_end(args);
	if (errno)
		fprintf(stderr, ": %s", strerror(errno));
	fputc('\n', stderr);
	exit(2);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static const char *const variant_names[] = KEYED_VARIANT_NAMES;

enum keyed_variant variant_of(const char *name)
{
	for (int i = 0; i < KEYED_VARIANTS; i++)
		if (!strcmp(name, variant_names[i]))
			return i;
	errno = 0;
	die("no variant %s", name);
}

const char *variant_name(enum keyed_variant variant)
{
	return variant_names[variant];
}

enum placement placement_of(const char *name)
{
	if (!strcmp(name, "on"))
		return PLACEMENT_ON;
	if (!strcmp(name, "off"))
		return PLACEMENT_OFF;
	errno = 0;
	die("placement is on or off");
}

struct rdma_cm_event *endpoint_event(struct endpoint *ep, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(ep->events, &event))
		die("rdma_get_cm_event");
	errno = event->status < 0 ? -event->status : 0;
	if (event->event != wanted)
		die("%s, not %s (status %d)", rdma_event_str(event->event), rdma_event_str(wanted),
		    event->status);
	return event;
}

/*
 * Each end decides for what is placed in its own memory. librdmacm makes the INIT->RTR transition
 * itself, so the wish is left with the queue pair before the connection is made.
 */
static void set_placement(struct ibv_qp *qp, enum placement placement)
{
	if (placement == PLACEMENT_DEFAULT)
		return;
#ifdef HAVE_RXE_OOODV
	if (rxe_ooodv_is_supported(qp->context->device)) {
		errno = rxe_ooodv_set_ooo(qp, placement == PLACEMENT_ON);
		if (errno)
			die("rxe_ooodv_set_ooo");
		return;
	}
#endif
	errno = 0;
	if (placement == PLACEMENT_ON)
		die("%s cannot place out of order, or this program was built without rxe_ooodv.h",
		    ibv_get_device_name(qp->context->device));
}

const char *endpoint_placement(struct endpoint *ep)
{
#ifdef HAVE_RXE_OOODV
	struct rxe_ooodv_qp_attr attr;

	if (!rxe_ooodv_query_qp(ep->qp, &attr))
		return attr.ooo ? "on" : "off";
#endif
	(void)ep;
	return "not offered";
}

bool endpoint_data_in_order(struct endpoint *ep)
{
	return ibv_query_qp_data_in_order(ep->qp, IBV_WR_RDMA_WRITE, 0);
}

static void open_queues(struct endpoint *ep, unsigned int depth)
{
	struct ibv_device_attr device;
	struct ibv_qp_init_attr init;

	if (ibv_query_device(ep->id->verbs, &device))
		die("ibv_query_device");
	ep->rd_atomic = device.max_qp_rd_atom < 16 ? device.max_qp_rd_atom : 16;
	ep->pd = ibv_alloc_pd(ep->id->verbs);
	ep->channel = ep->pd ? ibv_create_comp_channel(ep->id->verbs) : NULL;
	ep->cq = ep->channel ? ibv_create_cq(ep->id->verbs, depth * (WRS_PER_REQUEST + 4), NULL,
					     ep->channel, 0) : NULL;
	if (!ep->cq)
		die("completion queue");
	memset(&init, 0, sizeof(init));
	init.qp_type = IBV_QPT_RC;
	init.send_cq = ep->cq;
	init.recv_cq = ep->cq;
	init.cap.max_send_wr = 2 * depth * WRS_PER_REQUEST;
	init.cap.max_recv_wr = ep->recvs;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	init.cap.max_inline_data = INLINE_BYTES;
	if (rdma_create_qp(ep->id, ep->pd, &init))
		die("rdma_create_qp");
	ep->qp = ep->id->qp;
}

void endpoint_open(struct endpoint *ep, size_t bytes, unsigned int depth, enum placement placement)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_ATOMIC;

	ep->recvs = 2 * depth;
	open_queues(ep, depth);
	set_placement(ep->qp, placement);
	ep->bytes = (size_t)ep->recvs * RECV_BYTES + bytes;
	ep->bytes = (ep->bytes + 4095) & ~4095UL;
	ep->memory = aligned_alloc(4096, ep->bytes);
	if (!ep->memory)
		die("memory");
	memset(ep->memory, 0, ep->bytes);
	ep->mr = ibv_reg_mr(ep->pd, ep->memory, ep->bytes, access);
	if (!ep->mr)
		die("ibv_reg_mr");
	for (unsigned int i = 0; i < ep->recvs; i++)
		post_recv(ep, i);
	if (ibv_req_notify_cq(ep->cq, 0))
		die("ibv_req_notify_cq");
}

void endpoint_close(struct endpoint *ep)
{
	rdma_disconnect(ep->id);
	rdma_destroy_qp(ep->id);
	ibv_dereg_mr(ep->mr);
	ibv_destroy_cq(ep->cq);
	ibv_destroy_comp_channel(ep->channel);
	ibv_dealloc_pd(ep->pd);
	rdma_destroy_id(ep->id);
	free(ep->memory);
}

void *endpoint_memory(struct endpoint *ep)
{
	return ep->memory + (size_t)ep->recvs * RECV_BYTES;
}

void *endpoint_recv_buffer(struct endpoint *ep, uint64_t index)
{
	return ep->memory + (index % ep->recvs) * RECV_BYTES;
}

struct rdma_conn_param endpoint_conn_param(struct endpoint *ep, const void *private, size_t length)
{
	return (struct rdma_conn_param){
		.private_data = private, .private_data_len = length,
		.responder_resources = ep->rd_atomic, .initiator_depth = ep->rd_atomic,
		.retry_count = 7, .rnr_retry_count = 7,
	};
}

void post_recv(struct endpoint *ep, uint64_t index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)endpoint_recv_buffer(ep, index), .length = RECV_BYTES,
		.lkey = ep->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = WR_RECV | index, .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(ep->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

static void post_wr(struct endpoint *ep, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	errno = ibv_post_send(ep->qp, wr, &bad);
	if (errno)
		die("ibv_post_send");
}

void post(struct endpoint *ep, enum ibv_wr_opcode opcode, const void *local, uint32_t length,
	  struct remote to, uint32_t imm, uint64_t wr_id, bool signaled)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)local, .length = length, .lkey = ep->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = length != 0, .opcode = opcode,
		.send_flags = signaled ? IBV_SEND_SIGNALED : 0, .imm_data = htonl(imm),
		.wr.rdma = { .remote_addr = to.addr, .rkey = to.key },
	};

	if (opcode != IBV_WR_RDMA_READ && length <= INLINE_BYTES)
		wr.send_flags |= IBV_SEND_INLINE;
	post_wr(ep, &wr);
}

void post_fetch_add(struct endpoint *ep, uint64_t *result, struct remote to, uint64_t wr_id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)result, .length = sizeof(*result), .lkey = ep->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = to.addr, .rkey = to.key, .compare_add = 1 },
	};

	post_wr(ep, &wr);
}

bool endpoint_event_waits(struct endpoint *ep)
{
	struct pollfd fd = { .fd = ep->events->fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* Sleep until the completion queue has something, at most 100 ms; then look again. */
static void wait_for_completion(struct endpoint *ep)
{
	struct pollfd fds[] = {
		{ .fd = ep->channel->fd, .events = POLLIN },
		{ .fd = ep->events->fd, .events = POLLIN },
	};
	struct ibv_cq *cq;
	void *context;

	if (poll(fds, 2, 100) <= 0 || !fds[0].revents)
		return;
	if (ibv_get_cq_event(ep->channel, &cq, &context))
		die("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		die("ibv_req_notify_cq");
}

bool endpoint_poll(struct endpoint *ep, struct ibv_wc *wc)
{
	int found = ibv_poll_cq(ep->cq, 1, wc);

	if (!found) {
		if (ep->spin)
			sched_yield();
		else
			wait_for_completion(ep);
		found = ibv_poll_cq(ep->cq, 1, wc);
	}
	errno = 0;
	if (found < 0)
		die("ibv_poll_cq");
	return found;
}
