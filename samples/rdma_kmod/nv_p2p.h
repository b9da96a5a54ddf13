/* SPDX-License-Identifier: MIT */
/* NVIDIA's kernel interface for cards, as far as this sample calls it. Written from the GPUDirect
 * RDMA guide (4.3). The guide's page table has version 0x00010001. Today's drivers have 0x00010002,
 * which adds a field behind those and makes page_size an enum with the same values; the length is
 * then a multiple of 64 KiB. This sample reads the fields that both have, and checks the major
 * version. The persistent calls and those that map for a peer are newer than the guide: they are
 * those of NVIDIA's open kernel modules. A driver that is to be shipped uses NVIDIA's nv-p2p.h. */
#ifndef CULVERT_SAMPLE_NV_P2P_H_
#define CULVERT_SAMPLE_NV_P2P_H_

#include <linux/types.h>

struct pci_dev;

#define NVIDIA_P2P_MAJOR_VERSION(version) ((version) >> 16)
#define NVIDIA_P2P_PAGE_TABLE_MAJOR       1
#define NVIDIA_P2P_DMA_MAPPING_MAJOR      2

struct nvidia_p2p_page {
    uint64_t physical_address;
    uint32_t registers[6]; /* of no use to cards */
};

enum { NVIDIA_P2P_PAGE_SIZE_4KB, NVIDIA_P2P_PAGE_SIZE_64KB, NVIDIA_P2P_PAGE_SIZE_128KB };

struct nvidia_p2p_page_table {
    uint32_t version;
    uint32_t page_size;
    struct nvidia_p2p_page **pages;
    uint32_t entries;
};

struct nvidia_p2p_dma_mapping {
    uint32_t version;
    uint32_t page_size_type;
    uint32_t entries;
    uint64_t *dma_addresses;
};

int nvidia_p2p_get_pages(uint64_t p2p_token, uint32_t va_space_token, uint64_t virtual_address,
                         uint64_t length, struct nvidia_p2p_page_table **page_table,
                         void (*free_callback)(void *data), void *data);
int nvidia_p2p_put_pages(uint64_t p2p_token, uint32_t va_space_token, uint64_t virtual_address,
                         struct nvidia_p2p_page_table *page_table);
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table);

int nvidia_p2p_get_pages_persistent(uint64_t virtual_address, uint64_t length,
                                    struct nvidia_p2p_page_table **page_table, uint32_t flags);
int nvidia_p2p_put_pages_persistent(uint64_t virtual_address,
                                    struct nvidia_p2p_page_table *page_table, uint32_t flags);

int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
                             struct nvidia_p2p_dma_mapping **dma_mapping);
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
                               struct nvidia_p2p_dma_mapping *dma_mapping);
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping);

#endif
