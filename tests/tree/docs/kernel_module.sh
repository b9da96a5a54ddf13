#!/bin/sh
# Compiles the kernel module of a page, the block after <!-- kernel module -->: kernel_module.sh PAGE DIRECTORY. No warning but
# those of NVIDIA's symbols, which are nvidia.ko's. 77: there are no kernel's headers.
# SPDX-License-Identifier: MIT
set -eu
headers=
for directory in "/lib/modules/$(uname -r)/build" /usr/src/linux-headers-*; do
    [ -f "$directory/Module.symvers" ] && [ -f "$directory/Makefile" ] && headers=$directory
done
if [ -z "$headers" ]; then
    echo "no kernel's headers are here (Debian: linux-headers-amd64)"
    exit 77
fi
rm -rf "$2"
mkdir -p "$2"
# What the module calls of NVIDIA's kernel interface, written from the GPUDirect RDMA guide and the open kernel modules.
cat >"$2/nv-p2p.h" <<'END'
struct pci_dev;
struct nvidia_p2p_page_table;
struct nvidia_p2p_dma_mapping;
int nvidia_p2p_get_pages(uint64_t token, uint32_t space, uint64_t address, uint64_t length, struct nvidia_p2p_page_table **table,
                         void (*free_callback)(void *data), void *data);
int nvidia_p2p_put_pages(uint64_t token, uint32_t space, uint64_t address, struct nvidia_p2p_page_table *table);
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *table);
int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table, struct nvidia_p2p_dma_mapping **mapping);
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table, struct nvidia_p2p_dma_mapping *mapping);
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *mapping);
struct pin;
void card_unpin(struct pin *pin);
int card_pin(struct pci_dev *card, u64 address, u64 size, struct pin **out);
END
awk '/^<!-- kernel module -->$/ { here = 1 } here && /^```$/ { exit } here && inside { print } here && /^```c$/ { inside = 1 }' "$1" >"$2/card.c"
echo 'MODULE_LICENSE("Dual MIT/GPL");' >>"$2/card.c"
printf 'obj-m := card.o\nccflags-y := -I$(M)\n' >"$2/Makefile"
# A compiler that hides behind the name of another one (ccache) is not the kernel's.
make -C "$headers" M="$2" KBUILD_MODPOST_WARN=1 modules >"$2/log" 2>&1 || { cat "$2/log"; exit 1; }
cat "$2/log"
[ -f "$2/card.ko" ] || { echo "no module was made"; exit 1; }
if grep -i 'warning' "$2/log" | grep -v 'modpost: "nvidia_p2p_[a-z_]*" .*undefined!' | grep -v 'compiler differs'; then
    echo "the compiler warns"
    exit 1
fi
