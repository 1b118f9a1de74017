// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory: memory of the kernel's that behaves as if it were a NIC's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rxe_ooo.h"

/* Access by the CPU is in units of this, as with memory behind a bus. */
#define DM_ACCESS_UNIT 4	/* bytes */

static int dm_check_range(const struct rxe_ooo_dm *dm, uint64_t offset,
			  size_t length)
{
	if (offset % DM_ACCESS_UNIT || length % DM_ACCESS_UNIT)
		return EINVAL;
	if (offset > dm->length || length > dm->length - offset)
		return EFAULT;
	return 0;
}

static int rxe_ooo_memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset,
				const void *from, size_t length)
{
	struct rxe_ooo_dm *dm = to_rxe_ooo_dm(ibdm);
	int ret = dm_check_range(dm, offset, length);

	if (!ret)
		memcpy(dm->map + offset, from, length);
	return ret;
}

static int rxe_ooo_memcpy_from_dm(void *to, struct ibv_dm *ibdm,
				  uint64_t offset, size_t length)
{
	struct rxe_ooo_dm *dm = to_rxe_ooo_dm(ibdm);
	int ret = dm_check_range(dm, offset, length);

	if (!ret)
		memcpy(to, dm->map + offset, length);
	return ret;
}

/* Ask the kernel where the memory is, and map it. */
static int dm_map(struct ibv_context *ctx, struct rxe_ooo_dm *dm,
		  uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, RXE_OOO_METHOD_DM_QUERY,
			       2);
	struct rxe_ooo_dm_query_resp resp = {};
	void *map;
	int ret;

	fill_attr_in_obj(cmd, RXE_OOO_ATTR_DM_QUERY_HANDLE, handle);
	fill_attr_out_ptr(cmd, RXE_OOO_ATTR_DM_QUERY_RESP, &resp);
	ret = execute_ioctl(ctx, cmd);
	if (ret)
		return ret;
	if (resp.length > resp.mmap_size || resp.mmap_size > SIZE_MAX)
		return EPROTO;

	map = mmap(NULL, resp.mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   ctx->cmd_fd, resp.mmap_offset);
	if (map == MAP_FAILED)
		return errno;
	dm->map = map;
	dm->map_size = resp.mmap_size;
	dm->length = resp.length;
	dm->vdm.dm.memcpy_to_dm = rxe_ooo_memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = rxe_ooo_memcpy_from_dm;
	return 0;
}

static void dm_release(struct rxe_ooo_dm *dm)
{
	if (dm->map)
		munmap(dm->map, dm->map_size);
	free(dm);
}

struct ibv_dm *rxe_ooo_alloc_dm(struct ibv_context *ctx,
				struct ibv_alloc_dm_attr *attr)
{
	struct rxe_ooo_dm *dm;
	int ret;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_alloc_dm(ctx, attr, &dm->vdm, NULL);
	if (ret)
		goto err_free;
	ret = dm_map(ctx, dm, dm->vdm.handle);
	if (ret)
		goto err_dm;
	return &dm->vdm.dm;

err_dm:
	ibv_cmd_free_dm(&dm->vdm);
err_free:
	free(dm);
	errno = ret;
	return NULL;
}

int rxe_ooo_free_dm(struct ibv_dm *ibdm)
{
	struct rxe_ooo_dm *dm = to_rxe_ooo_dm(ibdm);
	int ret = ibv_cmd_free_dm(&dm->vdm);

	if (!ret)
		dm_release(dm);
	return ret;
}

struct ibv_mr *rxe_ooo_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
				 uint64_t offset, size_t length,
				 unsigned int access)
{
	struct rxe_ooo_dm *dm = to_rxe_ooo_dm(ibdm);
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_reg_dm_mr(pd, &dm->vdm, offset, length, access, vmr,
				NULL);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	rxe_ooo_pd_hold(pd);
	return &vmr->ibv_mr;
}

struct ibv_dm *rxe_ooo_import_dm(struct ibv_context *ctx, uint32_t handle)
{
	struct rxe_ooo_dm *dm = calloc(1, sizeof(*dm));
	int ret;

	if (!dm) {
		errno = ENOMEM;
		return NULL;
	}
	ret = dm_map(ctx, dm, handle);
	if (ret) {
		free(dm);
		errno = ret;
		return NULL;
	}
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = ctx;
	return &dm->vdm.dm;
}

void rxe_ooo_unimport_dm(struct ibv_dm *dm)
{
	dm_release(to_rxe_ooo_dm(dm));
}
