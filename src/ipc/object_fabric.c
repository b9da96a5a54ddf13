/* SPDX-License-Identifier: MIT */
/* VMM memory and pools that came as the bytes of a fabric handle. */
#include "culvert/fabric.h"
#include "ipc/ipc_client.h"

#include <string.h>

culv_result culv_ipc_import_vmm_fabric(const culv_ipc_object *object, culv_vmm_allocation **out)
{
    culv_fabric_handle handle;
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    culv_result result =
        culvi_ipc_object_check(object, __func__, CULV_IPC_VMM_FABRIC, (const void *)out);
    if (result != CULV_OK) return result;
    memcpy(handle.bytes, object->data, sizeof handle.bytes);
    d.size = object->info.allocation_size;
    d.exporter = object->info.device;
    d.label = object->info.name;
    return culv_vmm_import_fabric(object->device, &handle, &d, out);
}

culv_result culv_ipc_import_pool_fabric(const culv_ipc_object *object, culv_mem_pool **out)
{
    culv_fabric_handle handle;
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    culv_result result =
        culvi_ipc_object_check(object, __func__, CULV_IPC_POOL_FABRIC, (const void *)out);
    if (result != CULV_OK) return result;
    memcpy(handle.bytes, object->data, sizeof handle.bytes);
    d.label = object->info.name;
    return culv_mem_pool_import_fabric(object->device, &handle, &d, out);
}
