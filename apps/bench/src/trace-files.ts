/** The spans of a bench as files, where no Jaeger runs. */

import { spansOf, type TraceRequest } from '@meanwhile/harness/otlp'
import { jaegerFileOf } from './jaeger.ts'

export interface TraceFile {
  readonly path: string
  readonly text: string
}

/** From OTLP/JSON: the file for the page of Jaeger, and beside it the same spans as OTLP, for everything else that takes spans. */
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
