/** What else bears on the figures: the machine, its state, and the versions. */

import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import { VERSION as ANTHROPIC } from '@anthropic-ai/sdk/version'
import { VERSION as OPENAI } from 'openai/version'

export interface Environment {
  readonly node: string
  /** Versions of the official clients. */
  readonly clients: Readonly<Record<string, string>>
  readonly platform: string
  readonly cpu: { readonly model: string; readonly count: number }
  readonly memoryMb: number
  /** Over 1, 5 and 15 minutes, before the first run. */
  readonly loadAverage: readonly number[]
  readonly date: string
}

export function environment(): Environment {
  return {
    node: process.versions.node,
    clients: { openai: OPENAI, '@anthropic-ai/sdk': ANTHROPIC },
    platform: `${platform()} ${arch()}`,
    cpu: { model: cpus()[0]?.model.trim() ?? 'unknown', count: cpus().length },
    memoryMb: Math.round(totalmem() / 1024 / 1024),
    loadAverage: loadavg().map((load) => Number(load.toFixed(2))),
    date: new Date().toISOString(),
  }
}
