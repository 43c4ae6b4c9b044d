/** The circumstances that influence the figures: the machine, its state, and the versions. */

import { readFileSync } from 'node:fs'
import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import { VERSION as ANTHROPIC } from '@anthropic-ai/sdk/version'
import { VERSION as OPENAI } from 'openai/version'

export interface Environment {
  readonly node: string
  /** Versions of the official clients. */
  readonly clients: Readonly<Record<string, string>>
  readonly platform: string
  readonly cpu: { readonly model: string; readonly count: number; readonly governor: string | null }
  readonly memoryMb: number
  /** Over 1, 5 and 15 minutes, before the first run. */
  readonly loadAverage: readonly number[]
  /** The same, after the last run. */
  readonly loadAverageAfter?: readonly number[]
  readonly date: string
}

export function environment(): Environment {
  return {
    node: process.versions.node,
    clients: { openai: OPENAI, '@anthropic-ai/sdk': ANTHROPIC },
    platform: `${platform()} ${arch()}`,
    cpu: { model: cpus()[0]?.model.trim() ?? 'unknown', count: cpus().length, governor: governor() },
    memoryMb: Math.round(totalmem() / 1024 / 1024),
    loadAverage: loadNow(),
    date: new Date().toISOString(),
  }
}

export function loadNow(): readonly number[] {
  return loadavg().map((load) => Number(load.toFixed(2)))
}

/** `2 × Xeon, governor performance, load 0.4 before and 1.1 after, Node 24.21.0, linux x64` */
export function machineText({ cpu, node, platform, loadAverage, loadAverageAfter }: Environment): string {
  const [before] = loadAverage
  const after = loadAverageAfter?.[0]
  const load = `load ${before} before${after === undefined ? '' : ` and ${after} after`}`
  return [`${cpu.count} × ${cpu.model}`, `governor ${cpu.governor ?? 'unknown'}`, load, `Node ${node}`, platform].join(
    ', ',
  )
}

/** How Linux sets the clock of the first processor; `null` if unknown: on other systems, and in most virtual machines. */
function governor(): string | null {
  try {
    return readFileSync('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor', 'utf8').trim()
  } catch {
    return null
  }
}
