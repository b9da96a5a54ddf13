#!/bin/sh
# Compiles the sample's kernel module: rdma_kmod.sh SOURCE DIRECTORY. No warning but those of NVIDIA's symbols, which are
# nvidia.ko's. 77: there are no kernel's headers.
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
cp -r "$1" "$2"
# A compiler that hides behind the name of another one (ccache) is not the kernel's.
make -C "$2" KERNEL="$headers" >"$2/log" 2>&1 || { cat "$2/log"; exit 1; }
cat "$2/log"
[ -f "$2/culvert_rdma.ko" ] || { echo "no module was made"; exit 1; }
if grep -i 'warning' "$2/log" | grep -v 'modpost: "nvidia_p2p_[a-z_]*" .*undefined!' | grep -v 'compiler differs'; then
    echo "the compiler warns"
    exit 1
fi
# All of NVIDIA's calls that the guide's recipe needs.
for call in nvidia_p2p_get_pages nvidia_p2p_put_pages nvidia_p2p_free_page_table; do
    grep -q "\"$call\"" "$2/log" || { echo "$call is not called"; exit 1; }
done
