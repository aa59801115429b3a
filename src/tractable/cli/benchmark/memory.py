"""The most memory that this process has held, as its operating system counts it."""

import ctypes
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_memory() -> float:
    """The most bytes of memory that this process has held; zero where the system does not say."""
    if STATUS.exists():  # Linux: its `getrusage` goes on counting from the process that started this one
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return float(line.split()[1]) * 1024
    return _peak_on_windows() or _peak_of_resource()


def _peak_of_resource() -> float:
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return 0.0
    return float(getrusage(RUSAGE_SELF).ru_maxrss)  # bytes on macOS


class _MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS of the Windows API."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("page_faults", ctypes.c_uint32),
        ("peak_working_set", ctypes.c_size_t),
        ("other", ctypes.c_size_t * 7),
    )


def _peak_on_windows() -> float:
    if sys.platform != "win32":
        return 0.0
    kernel = ctypes.windll.kernel32
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    counters = _MemoryCounters(size=ctypes.sizeof(_MemoryCounters))
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    known = kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.size)
    return float(counters.peak_working_set) if known else 0.0
