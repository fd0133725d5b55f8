import { type ProcessRow, readText, unsharedBytes } from './supervisor/proc-tree.ts'

/**
 * Bytes that a process tree uses, counted as the kernel's memory limit does: private and shared memory, each page
 * once. Program files are excluded, because the kernel can drop those pages.
 */
export function usedBytes(tree: readonly ProcessRow[]): number {
  return tree.reduce((sum, { pid }) => sum + (proportionalBytes(pid) ?? unsharedBytes(pid)), 0)
}

/** A process's proportional share of its memory, from the kernel's sums; null if unreadable. */
function proportionalBytes(pid: number): number | null {
  const text = readText(`/proc/${pid}/smaps_rollup`)
  if (!text?.includes('Pss:')) return null
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0)
  // Kernels before 5.9 do not report files separately.
  const resident = text.includes('Pss_Anon:')
    ? kilobytes('Pss_Anon') + kilobytes('Pss_Shmem')
    : kilobytes('Pss')
  return (resident + kilobytes('SwapPss')) * 1024
}
