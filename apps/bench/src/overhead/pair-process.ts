/** Makes runs for whoever asks, with an SDK or without, and says what they took. */

import { cpuOf } from './cpu.ts'
import { startSdk } from './sdk.ts'
import { manySpans } from './subjects.ts'

export interface PairRequest {
  readonly runs: number
  /** No more runs come: all spans are to be exported. */
  readonly shutdown?: true
}

export interface PairAnswer {
  readonly spansPerRun: number
  /** Microseconds of CPU. */
  readonly cpuUs: number
  /** How many spans there were, after the shutdown. */
  readonly exported?: number | undefined
}

const subject = manySpans()
const sdk = process.argv[2] === 'traced' ? startSdk() : undefined

process.on('message', (request: PairRequest) => {
  void answer(request)
})

async function answer({ runs, shutdown }: PairRequest): Promise<void> {
  const cpuUs = await cpuOf(() =>
    sdk ? sdk.inContexts(() => subject.runs(runs, sdk.tracerProvider)) : subject.runs(runs),
  )
  const exported = shutdown && (await sdk?.shutdown())
  process.send?.({ spansPerRun: subject.spans, cpuUs, exported } satisfies PairAnswer)
}
