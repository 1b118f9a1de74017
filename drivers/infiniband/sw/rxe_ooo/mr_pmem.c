// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Persistence (IBTA A19): only for memory that really is persistent. */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include "objects.h"

static bool page_is_persistent(struct page *page)
{
	return region_intersects(page_to_phys(page), PAGE_SIZE, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY) == REGION_INTERSECTS;
}

/* -EINVAL: @access asks for persistence that the memory cannot give. */
int rxo_pmem_check(const struct rxo_mr_memory *mem, int access)
{
	u32 i;

	if (!(access & IB_ACCESS_FLUSH_PERSISTENT))
		return 0;
	for (i = 0; i < mem->num_pages; i++) {
		if (!page_is_persistent(mem->pages[i]))
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

void rxo_pmem_write_back(void *addr, size_t len)
{
	arch_wb_cache_pmem(addr, len);
}
