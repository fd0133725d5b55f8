import type Docker from 'dockerode'
import type { Usage } from '../engine.ts'

/**
 * CPU time since the start, and memory without the page cache that the kernel would reclaim; null if it has ended.
 * The engine responds in 3 to 6 ms, but delays a second request for one container within a second.
 */
export function usageOf(stats: Docker.ContainerStats): Usage | null {
  const used = stats.memory_stats?.usage
  if (used === undefined) return null
  const cache = stats.memory_stats.stats as
    | { total_inactive_file?: number; inactive_file?: number }
    | undefined
  // cgroup v1 counts the whole tree in total_*; v2 has only the plain name.
  const inactive = cache?.total_inactive_file ?? cache?.inactive_file ?? 0
  return {
    cpuMs: stats.cpu_stats.cpu_usage.total_usage / 1_000_000,
    memoryMb: Math.max(0, used - inactive) / (1024 * 1024),
  }
}
