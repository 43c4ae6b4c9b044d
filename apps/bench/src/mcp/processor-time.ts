/** The processor time of this process since then, in milliseconds. */
export function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return Math.round((user + system) / 1_000)
}
