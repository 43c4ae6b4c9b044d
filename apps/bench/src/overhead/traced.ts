/** What spans cost with an SDK: the same runs with a batch processor that exports to nowhere, and without, by turns. */

import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { median } from '../stats.ts'
import { cpuOf, spreadOf } from './cpu.ts'
import { manyDeltas, manySpans, type Subject } from './subjects.ts'
import type { Figures } from './table.ts'

export interface TracedOptions {
  readonly rounds?: number
  /** Of the run with many spans, in each half of a round; a tenth of them of the one with many deltas. */
  readonly runs?: number
}

type TracedFigures = Pick<Figures, 'untracedRunUs' | 'tracedRunUs' | 'spansPerRun' | 'spanUs' | 'deltaUs'>

export async function traced({ rounds = 15, runs = 300 }: TracedOptions = {}): Promise<TracedFigures> {
  const spans = manySpans()
  const ofSpans = await compared(spans, rounds, runs)
  // Its few deltas are on the spans' account.
  const spanUs = spreadOf(ofSpans.map(({ more }) => more / spans.spans))
  const deltas = manyDeltas()
  const ofDeltas = await compared(deltas, rounds, Math.ceil(runs / 10))
  const steps = deltas.deltas * deltas.layers
  return {
    untracedRunUs: median(ofSpans.map(({ without }) => without)) ?? Number.NaN,
    tracedRunUs: spreadOf(ofSpans.map(({ more }) => more)),
    spansPerRun: spans.spans,
    spanUs,
    deltaUs: spreadOf(ofDeltas.map(({ more }) => (more - deltas.spans * spanUs.median) / steps)),
  }
}

/** Microseconds per run. */
interface Comparison {
  readonly without: number
  /** What the SDK adds. */
  readonly more: number
}

/** Each round has both, and the one that is second in the one is first in the next: a busy second of the machine hits them alike. */
async function compared(subject: Subject, rounds: number, runs: number): Promise<readonly Comparison[]> {
  const counted = { spans: 0 }
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter: nowhere(counted) })] })
  const withSdk = async () => (await cpuOf(() => inContexts(() => subject.runs(runs, provider)))) / runs
  const withoutSdk = async () => (await cpuOf(() => subject.runs(runs))) / runs
  await withSdk()
  await withoutSdk()
  const made: Comparison[] = []
  for (let round = 0; round < rounds; round++) {
    const first = await (round % 2 === 0 ? withSdk() : withoutSdk())
    const second = await (round % 2 === 0 ? withoutSdk() : withSdk())
    const [traced, without] = round % 2 === 0 ? [first, second] : [second, first]
    made.push({ without, more: traced - without })
  }
  await provider.shutdown()
  const expected = (rounds + 1) * runs * subject.spans
  if (counted.spans !== expected) throw new Error(`${counted.spans} spans were exported, not ${expected}`)
  return made
}

/** An SDK brings a context manager with it, and that is half of what deltas cost. */
async function inContexts(work: () => Promise<void>): Promise<void> {
  const manager = new AsyncLocalStorageContextManager().enable()
  context.setGlobalContextManager(manager)
  try {
    await work()
  } finally {
    context.disable()
  }
}

function nowhere(counted: { spans: number }): SpanExporter {
  return {
    export(spans, done) {
      counted.spans += spans.length
      done({ code: 0 })
    },
    shutdown: async () => undefined,
  }
}
