"""A link with a delay and losses between two network namespaces, as tun devices, where the kernel has no netem:
python3 scripts/slow-link.py BOX FAR ROUND_TRIP_MS LOSS_PERCENT"""
import ctypes, fcntl, heapq, os, random, select, struct, subprocess, sys, time

box, far, delay, loss = sys.argv[1], sys.argv[2], float(sys.argv[3]) / 2000, float(sys.argv[4]) / 100
libc = ctypes.CDLL(None, use_errno=True)


def device(namespace, address):
    with open(f"/run/netns/{namespace}") as ns:
        if libc.setns(ns.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH", b"slow", 0x1001))  # TUNSETIFF, without headers
    for words in (["addr", "add", address, "dev", "slow"], ["link", "set", "slow", "up"]):
        subprocess.run(["ip", *words], check=True)
    return fd


ends = [device(box, "10.231.0.1/24"), device(far, "10.231.0.2/24")]
print("up", flush=True)
held, number = [], 0
while True:
    wait = max(0, held[0][0] - time.monotonic()) if held else 1
    for fd in select.select(ends, [], [], wait)[0]:
        packet = os.read(fd, 65536)
        if random.random() >= loss:
            number += 1
            heapq.heappush(held, (time.monotonic() + delay, number, ends[1 - ends.index(fd)], packet))
    while held and held[0][0] <= time.monotonic():
        _, _, fd, packet = heapq.heappop(held)
        os.write(fd, packet)
