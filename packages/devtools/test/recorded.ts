/** Spans that real programs sent, from the files in `test-data`. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeSpans } from '@meanwhile/harness/otlp'
import type { Run } from '../src/model/run.ts'
import { latest, runsOf } from '../src/model/runs.ts'
import { type Span, spanOf } from '../src/span.ts'

export const fileOf = (name: string): string => join(import.meta.dirname, `../test-data/${name}.json`)

export function recorded(name: string): Span[] {
  return decodeSpans(readFileSync(fileOf(name)), 'application/json').spans.map((span) => spanOf(span, false))
}

export const recordedRuns = (name: string): Run[] => runsOf(latest(recorded(name)))

/** The only run of a file. */
export function recordedRun(name: string): Run {
  const [run, ...more] = recordedRuns(name)
  if (!run || more.length > 0) throw new RangeError(`${name} has ${more.length + 1} runs`)
  return run
}
