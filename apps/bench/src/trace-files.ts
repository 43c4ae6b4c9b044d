/** Writes the spans of a benchmark to files, for machines without Jaeger. */

import { spansOf, type TraceRequest } from '@meanwhile/harness/otlp'
import { jaegerFileOf } from './jaeger.ts'

export interface TraceFile {
  readonly path: string
  readonly text: string
}

/** From OTLP/JSON: the file for Jaeger's page, and next to it the same spans as OTLP, for other tools. */
export function traceFiles(path: string, otlp: string): readonly TraceFile[] {
  const spans = spansOf(JSON.parse(otlp) as TraceRequest)
  return [
    { path, text: `${JSON.stringify(jaegerFileOf(spans))}\n` },
    { path: otlpPathOf(path), text: `${otlp}\n` },
  ]
}

/** `traces.json` → `traces.otlp.json`. */
export function otlpPathOf(path: string): string {
  return path.replace(/(\.json)?$/, '.otlp.json')
}
