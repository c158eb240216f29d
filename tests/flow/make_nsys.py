#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_nsys.py FILE [WHAT]: a database as `nsys export --type sqlite` lays it out, by its published schema.

Synthetic: a format test, not a recording. Two processes on one GPU; 4 kernels, 2 copies and 1 memset of the first, one kernel
of the second. WHAT: "bare" leaves out every table and column that older versions lack, "view" has the kernels as a view,
"nokey" has StringIds without its key, "hostile" has texts and numbers where they do not belong, "small" has the least pages.
"""
import os
import sqlite3
import sys

path, what = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path)
if what == "small":
    db.execute("PRAGMA page_size = 512")
names = {1: "_Z11stride_readILi2EEvPKfPfi", 2: "void stride_read<(int)2>(const float *, float *, int)", 3: "stride_read",
         4: "cudaLaunchKernel_v7000", 5: "cuLaunchKernel", 6: "cudaMemcpyAsync_v3020", 7: "_Z4copyPKfPf", 8: "cudaMemsetAsync_v3020"}
key = "" if what == "nokey" else " PRIMARY KEY"
db.execute(f"CREATE TABLE StringIds (id INTEGER NOT NULL{key}, value TEXT NOT NULL)")
db.executemany("INSERT INTO StringIds VALUES (?, ?)", names.items())
EPOCH = 1796000000000000000


def pid(n):
    return (1 << 48) | n << 24


kernel = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "mangledName",
          "launchType", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory",
          "dynamicSharedMemory", "localMemoryPerThread", "sharedMemoryExecuted", "graphNodeId"]
if what == "bare":
    kernel = [c for c in kernel if c not in ("globalPid", "mangledName", "launchType", "sharedMemoryExecuted", "graphNodeId")]
table = "KERNELS" if what == "view" else "CUPTI_ACTIVITY_KIND_KERNEL"
db.execute(f"CREATE TABLE {table} ({', '.join(c + ' INTEGER' for c in kernel)})")
if what == "view":
    db.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM KERNELS")


def add_kernel(process, start, end, correlation, mangled, grid, stream=7):
    row = dict(start=start, end=end, deviceId=0, contextId=1, streamId=stream, correlationId=correlation, globalPid=pid(process),
               demangledName=2, shortName=3, mangledName=mangled, launchType=1, registersPerThread=32, gridX=grid, gridY=1, gridZ=1,
               blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024, dynamicSharedMemory=0, localMemoryPerThread=0,
               sharedMemoryExecuted=32768, graphNodeId=None)
    if what == "hostile":
        row.update(start="yesterday", end=-(1 << 63), gridX=1 << 62, streamId=b"\xff\xfe", correlationId=None, mangledName=999)
    db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(kernel))})", [row[c] for c in kernel])


for i in range(3):
    add_kernel(4242, 1000000 + 100000 * i, 1015000 + 100000 * i, 100 + i, 1, 1024)
add_kernel(4242, 2000000, 2000500, 103, 7, 64, 13)
if what != "bare":
    add_kernel(4243, 2500000, 2500700, 100, 1, 1024)
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
               "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER)")
    # host (pageable) to device, and a migration of unified memory, which is no copy of the program
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, ?, ?)",
                   [(500000, 600000, 90, pid(4242), 1 << 20, 1, 0, 2), (610000, 620000, 91, pid(4242), 4096, 8, 2, 2),
                    (630000, 640000, 92, pid(4242), 4096, 11, 4, 4)])
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
               "correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER)")
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (700000, 701000, 0, 1, 7, 93, ?, 0, 512, 2)", (pid(4242),))
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
               "correlationId INTEGER, nameId INTEGER, returnValue INTEGER)")
    for n in range(4):
        at = 990000 + 100000 * n
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 4, 0)", (at, at + 6000, pid(4242) | 4244, 100 + n))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (490000, 650000, 0, ?, 90, 6, 0)", (pid(4242) | 4244,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (605000, 608000, 0, ?, 91, 6, 0)", (pid(4242) | 4244,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (690000, 696000, 0, ?, 93, 8, 0)", (pid(4242) | 4244,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2490000, 2496000, 1, ?, 100, 5, 0)", (pid(4243) | 4243,))
    db.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, chipName TEXT, computeMajor INTEGER, computeMinor INTEGER, "
               "smCount INTEGER, totalMemory INTEGER, l2CacheSize INTEGER, clockRate INTEGER, maxWarpsPerSm INTEGER)")
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', '01234567-89ab-cdef-0123-456789abcdef', 'GH100', 9, 0, 132, "
               "150109880320, 62914560, 1980000000, 64)")
    db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)")
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (EPOCH,))
    db.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
    db.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node7')")
    db.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
    db.executemany("INSERT INTO PROCESSES VALUES (?, ?, ?)", [(pid(4242), 4242, "/bin/app"), (pid(4243), 4243, "/bin/worker")])
db.commit()
db.close()
