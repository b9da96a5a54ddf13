/* SPDX-License-Identifier: MIT */
/* VMM memory and pools that go to clients as the bytes of a fabric handle, with no file
 * descriptor. */
#include "culvert/fabric.h"
#include "ipc/ipc_server.h"

#include <string.h>

_Static_assert(sizeof(culv_fabric_handle) == CULVI_IPC_DATA, "it fills a message's bytes");

culv_result culv_ipc_offer_vmm_fabric(culv_ipc_server *server, culv_vmm_allocation *allocation,
                                      const culv_ipc_info *info)
{
    culvi_ipc_offer offer;
    culv_fabric_handle handle;
    culv_vmm_allocation_info what = culv_vmm_allocation_info_init();
    CULVI_REQUIRE(NULL, server);
    CULVI_REQUIRE2(&server->device->voice, allocation, info);
    culv_result result = culvi_ipc_offer_begin(server, info, &offer);
    if (result == CULV_OK) result = culv_vmm_allocation_get_info(allocation, &what);
    if (result == CULV_OK) result = culv_vmm_export_fabric(allocation, &handle);
    if (result != CULV_OK) return result;
    offer.info.kind = CULV_IPC_VMM_FABRIC;
    offer.info.handle_type = CULV_HANDLE_NONE;
    offer.info.device = what.device;
    offer.info.allocation_size = what.size;
    if (offer.info.size == 0) offer.info.size = what.requested;
    offer.info.offset = 0;
    memcpy(offer.data, handle.bytes, sizeof handle.bytes);
    return culvi_ipc_offer_add(server, __func__, &offer);
}

culv_result culv_ipc_offer_pool_fabric(culv_ipc_server *server, culv_mem_pool *pool,
                                       const culv_ipc_info *info)
{
    culvi_ipc_offer offer;
    culv_fabric_handle handle;
    CULVI_REQUIRE(NULL, server);
    CULVI_REQUIRE2(&server->device->voice, pool, info);
    culv_result result = culvi_ipc_offer_begin(server, info, &offer);
    if (result == CULV_OK) result = culv_mem_pool_export_fabric(pool, &handle);
    if (result != CULV_OK) return result;
    offer.info.kind = CULV_IPC_POOL_FABRIC;
    offer.info.handle_type = CULV_HANDLE_NONE;
    memcpy(offer.data, handle.bytes, sizeof handle.bytes);
    return culvi_ipc_offer_add(server, __func__, &offer);
}
