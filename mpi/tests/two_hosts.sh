#!/bin/sh
# Runs a program of MPI on two hosts, which are two network namespaces and a pair of interfaces between them: RANKS of it
# on the first host, and then OTHERS on the second one, by TCP. RATE is a link's ("10gbit", of tc), or 0. It needs root,
# iproute2 and Open MPI 4.
#   two_hosts.sh DIR RATE RANKS OTHERS PROGRAM [ARGUMENT...]
# SPDX-License-Identifier: MIT
set -eu
dir=$1 rate=$2 ranks=$3 others=$4 a=cmpi$$a b=cmpi$$b
shift 4
mpirun --version 2>/dev/null | grep -q "Open MPI) 4" || { echo "SKIP: no Open MPI of 4"; exit 77; }
ip netns add $a 2>/dev/null || { echo "SKIP: no network namespaces here"; exit 77; }
trap 'ip netns del $a; ip netns del $b' EXIT
trap 'exit 1' INT TERM
ip netns add $b
ip link add $a netns $a type veth peer name $b netns $b
ip -n $a addr add 10.77.0.1/24 dev $a
ip -n $b addr add 10.77.0.2/24 dev $b
for n in $a $b; do
    ip -n $n link set lo up
    ip -n $n link set $n up
    [ "$rate" = 0 ] || tc -n $n qdisc add dev $n root tbf rate "$rate" burst 1mb latency 50ms
done
mkdir -p "$dir"
cat >"$dir/agent" <<END
#!/bin/sh
shift # the host: only the second one is asked by this
exec ip netns exec $b unshare --uts sh -c "hostname $b; \$*"
END
chmod +x "$dir/agent"
# The hosts share cores: who polls must not keep the kernel's network thread from its work.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec $a unshare --uts sh -c "hostname $a; exec \"\$@\"" sh mpirun --mca plm_rsh_agent "$dir/agent" \
    --mca mpi_yield_when_idle 1 --mca oob_tcp_if_include $a,$b --mca btl_tcp_if_include 10.77.0.0/24 --oversubscribe -x CULVERT_SOFT \
    --host "10.77.0.1:$ranks,10.77.0.2:$others" -n $((ranks + others)) "$@"
