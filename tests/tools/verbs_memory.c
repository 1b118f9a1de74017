// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: windows, re-registration, flushing, device memory, dma-buf, on-demand paging. Each case
 * has an initiator and a target on one device and looks at the completion and at the bytes.
 *
 *   verbs_memory DEVICE GID_INDEX
 */
#define _GNU_SOURCE
#include <linux/udmabuf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "verbs_test.h"

#define ODP_ACCESS	(ALL_ACCESS | IBV_ACCESS_ON_DEMAND)
#define BIG		(256 * 1024)

struct two {
	struct end a, b;	/* a asks, b is asked */
};

static bool two_open(struct two *t)
{
	if (!end_open(&t->a) || !end_open(&t->b))
		return false;
	t->a.attr.qp_access_flags |= IBV_ACCESS_FLUSH_GLOBAL;
	t->b.attr.qp_access_flags |= IBV_ACCESS_FLUSH_GLOBAL;
	return connect_to(&t->a, t->b.qp->qp_num) && connect_to(&t->b, t->a.qp->qp_num);
}

static void two_close(struct two *t)
{
	end_close(&t->a);
	end_close(&t->b);
}

static int rdma(struct end *e, enum ibv_wr_opcode opcode, void *addr, uint32_t len, uint32_t lkey,
		uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	if (ibv_post_send(e->qp, &wr, &bad))
		return -2;
	return wait_wc(e->scq);
}

static int write_to(struct two *t, uint32_t len, uint64_t remote, uint32_t rkey)
{
	return rdma(&t->a, IBV_WR_RDMA_WRITE, t->a.buf, len, t->a.mr->lkey, remote, rkey);
}

static void expect_status(int got, int want, const char *what)
{
	expect(got == want, "%s: status %d, expected %d", what, got, want);
}

/* ------------------------------------------------------------------ */
/* Windows                                                             */

/* Binds through b's QP; the window's new key, 0 if it failed (with the status). */
static uint32_t bind(struct end *e, struct ibv_mw *mw, struct ibv_mr *mr, void *addr, uint64_t len,
		     int access, int *status)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = { .mr = mr, .addr = (uintptr_t)addr, .length = len,
					    .mw_access_flags = access } },
	};
	int rc = ibv_post_send(e->qp, &wr, &bad);

	*status = rc ? -2 : wait_wc(e->scq);
	return *status ? 0 : wr.bind_mw.rkey;
}

static int local_inv(struct end *e, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey };

	return ibv_post_send(e->qp, &wr, &bad) ? -2 : wait_wc(e->scq);
}

static void mw_region_busy(const void *arg)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr;
	struct two t;
	uint32_t key;
	int status;

	(void)arg;
	if (!expect(mw, "alloc_mw: %s", strerror(errno)) || !two_open(&t))
		return;
	mr = ibv_reg_mr(pd, t.b.buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	key = bind(&t.b, mw, mr, t.b.buf, 4096, IBV_ACCESS_REMOTE_WRITE, &status);
	expect_status(status, 0, "bind");
	expect(ibv_dereg_mr(mr) == EBUSY, "dereg_mr of a region with a window");
	expect(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS),
	       "rereg_mr of a region with a window");
	expect_status(write_to(&t, 4096, (uintptr_t)t.b.buf, key), 0, "write");
	expect_status(local_inv(&t.b, key), 0, "LOCAL_INV");
	expect(!ibv_dereg_mr(mr), "dereg_mr");
	expect_status(write_to(&t, 8, (uintptr_t)t.b.buf, key), IBV_WC_REM_ACCESS_ERR, "write");
	expect(!ibv_dealloc_mw(mw), "dealloc_mw");
	two_close(&t);
}

/* Type 2: the key is good on the QP that it was bound through only. */
static void mw_other_qp(const void *arg)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr;
	struct two t, u;
	uint32_t key;
	int status;

	(void)arg;
	if (!two_open(&t) || !two_open(&u))
		return;
	mr = ibv_reg_mr(pd, t.b.buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	key = bind(&t.b, mw, mr, t.b.buf, 4096, IBV_ACCESS_REMOTE_WRITE, &status);
	expect_status(status, 0, "bind");
	expect_status(write_to(&u, 8, (uintptr_t)t.b.buf, key), IBV_WC_REM_ACCESS_ERR,
		      "through another QP");
	expect_status(write_to(&t, 8, (uintptr_t)t.b.buf, key), 0, "through its QP");
	ibv_dealloc_mw(mw);
	expect(!ibv_dereg_mr(mr), "dereg_mr");
	two_close(&t);
	two_close(&u);
}

static void mw_range(const void *arg)
{
	bool zero = arg;
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	int access = IBV_ACCESS_REMOTE_WRITE | (zero ? IBV_ACCESS_ZERO_BASED : 0);
	struct ibv_mr *mr;
	uint64_t base;
	struct two t;
	uint32_t key;
	int status;

	if (!two_open(&t))
		return;
	mr = ibv_reg_mr(pd, t.b.buf, BUF_SIZE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	key = bind(&t.b, mw, mr, t.b.buf + 5000, 4096, access, &status);
	expect_status(status, 0, "bind");
	base = zero ? 0 : (uintptr_t)t.b.buf + 5000;
	memset(t.a.buf, 0x5a, 4096);
	expect_status(write_to(&t, 4096, base, key), 0, "the whole window");
	expect(!memcmp(t.b.buf + 5000, t.a.buf, 4096) && !t.b.buf[4999] && !t.b.buf[9096],
	       "the wrong bytes were written");
	expect_status(write_to(&t, 4096, base + 1, key), IBV_WC_REM_ACCESS_ERR, "one byte too far");
	ibv_dealloc_mw(mw);
	ibv_dereg_mr(mr);
	two_close(&t);
}

static void mw_refused(const void *arg)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	int mr_access = *(const int *)arg;
	struct ibv_mr *mr;
	struct two t;
	int status;

	if (!two_open(&t))
		return;
	mr = ibv_reg_mr(pd, t.b.buf, BUF_SIZE, mr_access);
	bind(&t.b, mw, mr, t.b.buf, 4096, IBV_ACCESS_REMOTE_WRITE, &status);
	expect_status(status, IBV_WC_MW_BIND_ERR, "bind");
	expect(!ibv_dereg_mr(mr), "dereg_mr: %s", strerror(errno));
	ibv_dealloc_mw(mw);
	two_close(&t);
}

/* ------------------------------------------------------------------ */
/* Re-registration                                                     */

static void rereg_translation(const void *arg)
{
	uint8_t *other = aligned_alloc(4096, BUF_SIZE);
	struct two t;

	(void)arg;
	if (!two_open(&t))
		return;
	memset(other, 0, BUF_SIZE);
	memset(t.a.buf, 1, 64);
	expect(!ibv_rereg_mr(t.b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, BUF_SIZE, 0),
	       "rereg_mr: %s", strerror(errno));
	expect_status(write_to(&t, 64, (uintptr_t)other, t.b.mr->rkey), 0, "write");
	expect(other[0] == 1 && other[63] == 1 && !t.b.buf[0], "the wrong memory was written");
	expect_status(write_to(&t, 64, (uintptr_t)t.b.buf, t.b.mr->rkey), IBV_WC_REM_ACCESS_ERR,
		      "write to the old address");
	expect(!t.b.buf[0], "the old memory was written");
	two_close(&t);
	free(other);
}

/* A failure leaves all as it was. */
static void rereg_fails(const void *arg)
{
	void *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct two t;

	(void)arg;
	if (!two_open(&t))
		return;
	expect(ibv_rereg_mr(t.b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, hole, 8192, 0),
	       "rereg_mr to memory that is none");
	expect(ibv_rereg_mr(t.b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    IBV_ACCESS_REMOTE_WRITE), "rereg_mr to rights that are none");
	memset(t.a.buf, 2, 64);
	expect_status(write_to(&t, 64, (uintptr_t)t.b.buf, t.b.mr->rkey), 0, "write");
	expect(t.b.buf[63] == 2, "nothing was written");
	munmap(hole, 8192);
	two_close(&t);
}

struct changer {
	struct ibv_mr *mr;
	atomic_bool stop;
	int rc, count;
};

static void *change_access(void *arg)
{
	struct changer *c = arg;

	while (!c->stop && !c->rc) {
		int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     (c->count++ & 1 ? IBV_ACCESS_REMOTE_READ : 0);

		c->rc = ibv_rereg_mr(c->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
	}
	return NULL;
}

/* Rights come and go; those that stay are there at every moment. */
static void rereg_under_traffic(const void *arg)
{
	struct changer c = {};
	pthread_t thread;
	struct two t;
	int i, status = 0;

	(void)arg;
	if (!two_open(&t))
		return;
	c.mr = t.b.mr;
	pthread_create(&thread, NULL, change_access, &c);
	for (i = 0; i < 300 && !status; i++)
		status = write_to(&t, BUF_SIZE, (uintptr_t)t.b.buf, t.b.mr->rkey);
	c.stop = true;
	pthread_join(thread, NULL);
	expect_status(status, 0, "write");
	expect(!c.rc, "rereg_mr: %d after %d", c.rc, c.count);
	two_close(&t);
}

/* ------------------------------------------------------------------ */
/* FLUSH                                                               */

static void flush_persistent_refused(const void *arg)
{
	void *buf = aligned_alloc(4096, 4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, 4096,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_FLUSH_PERSISTENT);

	(void)arg;
	expect(!mr, "ordinary memory was registered as persistent");
	if (mr)
		ibv_dereg_mr(mr);
	free(buf);
}

static void flush(const void *arg)
{
	bool allowed = arg;
	struct ibv_qp_init_attr_ex init;
	struct ibv_qp_ex *qpx;
	struct ibv_qp *old;
	struct ibv_mr *mr;
	struct two t;

	if (!end_open(&t.a) || !end_open(&t.b))
		return;
	init = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RC, .send_cq = t.a.scq, .recv_cq = t.a.rcq, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd, .send_ops_flags = IBV_QP_EX_WITH_FLUSH,
	};
	old = t.a.qp;
	t.a.qp = ibv_create_qp_ex(ctx, &init);
	ibv_destroy_qp(old);
	t.b.attr.qp_access_flags |= IBV_ACCESS_FLUSH_GLOBAL;
	if (!expect(t.a.qp, "create_qp_ex: %s", strerror(errno)) ||
	    !connect_to(&t.a, t.b.qp->qp_num) || !connect_to(&t.b, t.a.qp->qp_num))
		return;
	mr = ibv_reg_mr(pd, t.b.buf, BUF_SIZE,
			ALL_ACCESS | (allowed ? IBV_ACCESS_FLUSH_GLOBAL : 0));
	expect(mr, "reg_mr: %s", strerror(errno));
	qpx = ibv_qp_to_qp_ex(t.a.qp);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(qpx, mr->rkey, (uintptr_t)t.b.buf, BUF_SIZE, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE);
	expect(!ibv_wr_complete(qpx), "wr_complete");
	expect_status(wait_wc(t.a.scq), allowed ? 0 : IBV_WC_REM_ACCESS_ERR, "flush");
	ibv_dereg_mr(mr);
	two_close(&t);
}

/* ------------------------------------------------------------------ */
/* Device memory                                                       */

static void device_memory(const void *arg)
{
	struct ibv_alloc_dm_attr attr = { .length = 10000 };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	uint8_t bytes[64];
	struct ibv_mr *mr;
	struct two t;

	(void)arg;
	if (!expect(dm, "alloc_dm: %s", strerror(errno)) || !two_open(&t))
		return;
	mr = ibv_reg_dm_mr(pd, dm, 5000, 4096, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	if (!expect(mr, "reg_dm_mr: %s", strerror(errno)))
		return;
	memset(t.a.buf, 3, 64);
	expect_status(write_to(&t, 64, 4032, mr->rkey), 0, "write");
	expect(!ibv_memcpy_from_dm(bytes, dm, 9032, 64), "memcpy_from_dm");
	expect(bytes[0] == 3 && bytes[63] == 3, "other bytes");
	expect(ibv_free_dm(dm), "free_dm of memory with a region");
	expect_status(write_to(&t, 64, 4036, mr->rkey), IBV_WC_REM_ACCESS_ERR, "beyond its end");
	expect(!ibv_dereg_mr(mr) && !ibv_free_dm(dm), "free_dm");
	two_close(&t);
}

static void device_memory_limit(const void *arg)
{
	struct ibv_device_attr_ex attr_ex = {};
	struct ibv_alloc_dm_attr attr = {};
	struct ibv_dm *dm[64];
	int i, n = 0;

	(void)arg;
	ibv_query_device_ex(ctx, NULL, &attr_ex);
	attr.length = attr_ex.max_dm_size + 1;
	expect(!ibv_alloc_dm(ctx, &attr) && errno == EINVAL, "more than max_dm_size");
	attr.length = attr_ex.max_dm_size;
	while (n < 64 && (dm[n] = ibv_alloc_dm(ctx, &attr)))
		n++;
	expect(n > 0 && n < 64 && errno == ENOMEM, "%d of max_dm_size, then %s", n,
	       strerror(errno));
	for (i = 0; i < n; i++)
		expect(!ibv_free_dm(dm[i]), "free_dm");
}

/* ------------------------------------------------------------------ */
/* dma-buf                                                             */

static int make_dmabuf(size_t size, uint8_t **map)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int dev = open("/dev/udmabuf", O_RDWR), fd;

	if (dev < 0)
		return -1;
	create.memfd = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	if (ftruncate(create.memfd, size) || fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, create.memfd, 0);
	close(create.memfd);
	close(dev);
	return fd;
}

static void dma_buf(const void *arg)
{
	uint8_t *map = NULL;
	int fd = make_dmabuf(BUF_SIZE, &map);
	struct ibv_mr *mr;
	struct two t;

	(void)arg;
	if (!expect(fd >= 0 && map != MAP_FAILED, "udmabuf: %s", strerror(errno)) || !two_open(&t))
		return;
	expect(!ibv_reg_dmabuf_mr(pd, 4096, BUF_SIZE, 0, fd, ALL_ACCESS) && errno == EINVAL,
	       "longer than the buffer");
	expect(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, ALL_ACCESS), "stdin as dma-buf");
	mr = ibv_reg_dmabuf_mr(pd, 4096, BUF_SIZE - 4096, 0x7000, fd, ALL_ACCESS);
	if (!expect(mr, "reg_dmabuf_mr: %s", strerror(errno)))
		return;
	close(fd);
	memset(t.a.buf, 4, BUF_SIZE - 4096);
	expect_status(write_to(&t, BUF_SIZE - 4096, 0x7000, mr->rkey), 0, "write");
	expect(!map[4095] && map[4096] == 4 && map[BUF_SIZE - 1] == 4, "other bytes");
	memset(t.a.buf, 0, BUF_SIZE);
	map[5000] = 5;
	expect_status(rdma(&t.a, IBV_WR_RDMA_READ, t.a.buf, 4096, t.a.mr->lkey, 0x7000, mr->rkey),
		      0, "read");
	expect(t.a.buf[5000 - 4096] == 5, "read %d", t.a.buf[5000 - 4096]);
	expect(!ibv_dereg_mr(mr), "dereg_mr");
	munmap(map, BUF_SIZE);
	two_close(&t);
}

/* ------------------------------------------------------------------ */
/* On-demand paging                                                    */

static uint8_t *anonymous(size_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct ibv_mr *reg_odp(uint8_t *buf, size_t size, bool implicit)
{
	return implicit ? ibv_reg_mr(pd, NULL, SIZE_MAX, ODP_ACCESS) :
			  ibv_reg_mr(pd, buf, size, ODP_ACCESS);
}

static void fill(uint8_t *buf, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		buf[i] = seed + i + (i >> 8);
}

/* WRITE and READ between pages that are taken away each time. */
static void odp_traffic(const void *arg)
{
	uint8_t *src = anonymous(BIG, PROT_READ | PROT_WRITE);
	uint8_t *dst = anonymous(BIG, PROT_READ | PROT_WRITE);
	struct ibv_mr *from = reg_odp(src, BIG, arg), *to = reg_odp(dst, BIG, arg);
	struct two t;
	int i;

	if (!expect(from && to, "reg_mr: %s", strerror(errno)) || !two_open(&t))
		return;
	for (i = 0; i < 20; i++) {
		madvise(dst, BIG, MADV_DONTNEED);
		madvise(src, BIG, MADV_DONTNEED);
		fill(src, BIG, i);
		expect_status(rdma(&t.a, IBV_WR_RDMA_WRITE, src, BIG, from->lkey, (uintptr_t)dst,
				   to->rkey), 0, "write");
		expect(!memcmp(src, dst, BIG), "write %d: other bytes", i);
		fill(dst, BIG, i + 100);
		madvise(src, BIG, MADV_DONTNEED);
		expect_status(rdma(&t.a, IBV_WR_RDMA_READ, src, BIG, from->lkey, (uintptr_t)dst,
				   to->rkey), 0, "read");
		expect(!memcmp(src, dst, BIG), "read %d: other bytes", i);
	}
	ibv_dereg_mr(from);
	ibv_dereg_mr(to);
	munmap(src, BIG);
	munmap(dst, BIG);
	two_close(&t);
}

static void *keep_forking(void *arg)
{
	struct changer *c = arg;
	pid_t pid;

	while (!c->stop) {
		pid = fork();
		if (!pid) {
			usleep(2000);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
		c->count++;
	}
	return NULL;
}

/*
 * Each fork takes the pages' write permission: what is written must be the
 * parent's. Fault work of the device copies such a page while this thread runs,
 * and User-mode Linux lets a running thread keep its old mapping until it enters
 * the kernel (stale_mapping.c shows that without any RDMA). So this thread does
 * before it looks, and what the two threads write to is on pages of their own.
 */
static void odp_fork(const void *arg)
{
	uint8_t *dst = anonymous(BIG, PROT_READ | PROT_WRITE);
	struct changer *c = (void *)anonymous(sizeof(*c), PROT_READ | PROT_WRITE);
	struct ibv_mr *to = reg_odp(dst, BIG, false);
	pthread_t thread;
	struct two t;
	int i, status = 0;

	(void)arg;
	if (!expect(to, "reg_mr: %s", strerror(errno)) || !two_open(&t))
		return;
	pthread_create(&thread, NULL, keep_forking, c);
	for (i = 0; i < 200 && !status; i++) {
		fill(t.a.buf, BUF_SIZE, i);
		status = write_to(&t, BUF_SIZE, (uintptr_t)dst + i % 4 * BUF_SIZE, to->rkey);
		sched_yield();
		expect(status || !memcmp(t.a.buf, dst + i % 4 * BUF_SIZE, BUF_SIZE),
		       "write %d: other bytes", i);
	}
	c->stop = true;
	pthread_join(thread, NULL);
	expect_status(status, 0, "write");
	ibv_dereg_mr(to);
	munmap(c, sizeof(*c));
	munmap(dst, BIG);
	two_close(&t);
}

/* Memory that is not there is an error, soon, on the side whose memory it is. */
static void odp_hole(const void *arg)
{
	bool local = arg;
	uint8_t *hole = anonymous(8192, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = reg_odp(hole, 8192, false);
	double start;
	struct two t;

	if (!expect(mr, "reg_mr: %s", strerror(errno)) || !two_open(&t))
		return;
	hole[0] = 1;
	munmap(hole, 8192);
	start = now();
	if (local)
		expect_status(rdma(&t.a, IBV_WR_RDMA_WRITE, hole, 8192, mr->lkey,
				   (uintptr_t)t.b.buf, t.b.mr->rkey), IBV_WC_LOC_PROT_ERR, "write");
	else
		expect_status(write_to(&t, 8192, (uintptr_t)hole, mr->rkey), IBV_WC_REM_ACCESS_ERR,
			      "write");
	expect(now() - start < 5, "after %.1f s", now() - start);
	expect(!ibv_dereg_mr(mr), "dereg_mr");
	two_close(&t);
}

static void odp_read_only(const void *arg)
{
	uint8_t *buf = anonymous(8192, PROT_READ);
	struct ibv_mr *mr = reg_odp(buf, 8192, false);
	struct two t;

	(void)arg;
	if (!expect(mr, "reg_mr: %s", strerror(errno)) || !two_open(&t))
		return;
	expect_status(rdma(&t.a, IBV_WR_RDMA_READ, t.a.buf, 8192, t.a.mr->lkey, (uintptr_t)buf,
			   mr->rkey), 0, "read");
	expect_status(write_to(&t, 8, (uintptr_t)buf, mr->rkey), IBV_WC_REM_ACCESS_ERR, "write");
	expect(!buf[0], "written to");
	ibv_dereg_mr(mr);
	munmap(buf, 8192);
	two_close(&t);
}

static void odp_advise(const void *arg)
{
	uint8_t *buf = anonymous(BIG, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = reg_odp(buf, BIG, false);
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = BIG };
	unsigned char resident = 0;

	(void)arg;
	if (!expect(mr, "reg_mr: %s", strerror(errno)))
		return;
	sge.lkey = mr->lkey;
	expect(!ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			      &sge, 1), "advise_mr: %s", strerror(errno));
	mincore(buf + BIG - 4096, 4096, &resident);
	expect(resident & 1, "the pages are not there");
	sge.length = BIG + 1;
	expect(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
	       "beyond the region");
	ibv_dereg_mr(mr);
	munmap(buf, BIG);
}

/* ------------------------------------------------------------------ */

static void skip(const char *name, const char *why)
{
	printf("skip %s - %s\n", name, why);
}

int main(int argc, char **argv)
{
	static const int no_bind = ALL_ACCESS;
	static const int read_only = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;

	if (argc != 3)
		return 2;
	open_device(argv[1], atoi(argv[2]));
	run("mw-keeps-region", mw_region_busy, NULL);
	run("mw-other-qp", mw_other_qp, NULL);
	run("mw-range", mw_range, NULL);
	run("mw-zero-based", mw_range, "zero");
	run("mw-region-does-not-allow", mw_refused, &no_bind);
	run("mw-region-not-writable", mw_refused, &read_only);
	run("rereg-translation", rereg_translation, NULL);
	run("rereg-fails", rereg_fails, NULL);
	run("rereg-under-traffic", rereg_under_traffic, NULL);
	run("flush-persistent-refused", flush_persistent_refused, NULL);
	run("flush", flush, "allowed");
	run("flush-not-allowed", flush, NULL);
	run("device-memory", device_memory, NULL);
	run("device-memory-limit", device_memory_limit, NULL);
	if (access("/dev/udmabuf", R_OK))
		skip("dma-buf", "no /dev/udmabuf");
	else
		run("dma-buf", dma_buf, NULL);
	run("odp", odp_traffic, NULL);
	run("odp-implicit", odp_traffic, "implicit");
	run("odp-fork", odp_fork, NULL);
	run("odp-hole-remote", odp_hole, NULL);
	run("odp-hole-local", odp_hole, "local");
	run("odp-read-only", odp_read_only, NULL);
	run("odp-advise", odp_advise, NULL);
	return finish();
}
