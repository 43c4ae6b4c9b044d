/** A process that makes runs on request, and reports their CPU time. */

import { cpuOf } from './cpu.ts'
import { startSdk } from './sdk.ts'
import { SpanCalls } from './span-calls.ts'
import { manySpans } from './subjects.ts'

/** Without an SDK, with one, or without one and followed by the SDK calls of such a run. */
export type Mode = 'untraced' | 'traced' | 'repeated'

export interface Request {
  readonly runs: number
  /** No more runs follow: all spans must be exported. */
  readonly shutdown?: true
}

export interface Answer {
  readonly spansPerRun: number
  /** Microseconds of CPU. */
  readonly cpuUs: number
  /** How many spans there were, after the shutdown. */
  readonly exported?: number | undefined
}

const subject = manySpans()
const [, , mode] = process.argv
const sdk = mode === 'traced' || mode === 'repeated' ? startSdk() : undefined
const calls = mode === 'repeated' ? await heard() : undefined

process.on('message', (request: Request) => {
  void answer(request)
})

async function answer({ runs, shutdown }: Request): Promise<void> {
  const cpuUs = await cpuOf(() => work(runs))
  const exported = shutdown && (await sdk?.shutdown())
  process.send?.({ spansPerRun: subject.spans, cpuUs, exported } satisfies Answer)
}

function work(runs: number): Promise<void> {
  if (!sdk) return subject.runs(runs)
  const { tracerProvider, inContexts } = sdk
  const tracer = tracerProvider.getTracer('repeated')
  return inContexts(() =>
    calls ? subject.runs(runs, undefined, () => calls.repeat(tracer)) : subject.runs(runs, tracerProvider),
  )
}

async function heard(): Promise<SpanCalls> {
  const calls = new SpanCalls()
  await subject.runs(1, calls.provider)
  return calls
}
