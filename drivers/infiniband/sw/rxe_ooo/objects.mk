# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
rxe_ooo-y += objects.o udata.o ring.o ucontext.o xrcd.o cq.o srq.o recv_ring.o ah.o
rxe_ooo-y += mr.o mr_access.o mr_local.o mr_rereg.o mr_pmem.o mr_dmabuf.o mw.o dm.o
rxe_ooo-y += odp.o odp_fault.o odp_advise.o
rxe_ooo-y += qp.o qp_attr.o qp_post.o qp_run.o wqe.o ud.o mcast.o dv.o restrack.o
rxe_ooo-y += env_sq.o env_rq.o env_mem.o env_pkt.o env_event.o
