/** Measures the time from server to reader by itself: no client can be faster. */

import { clock } from '@meanwhile/harness/server'
import { SCENARIOS } from './scenarios.ts'
import { median, range } from './stats.ts'
import type { Transport } from './transport.ts'

export interface TransportLag {
  readonly p50: number
  readonly max: number
}

/** Milliseconds from a write of the server to the arrival of its bytes at a bare `fetch`. */
export async function transportLag(transport: Transport, signal: AbortSignal): Promise<TransportLag | null> {
  await using stage = await transport.stage(PROBE, 'openai-chat')
  const { url, fetch: send = fetch } = stage.place
  const request = { method: 'POST', body: '{"stream": true}', signal }
  const { body } = await send(`${url}/v1/chat/completions`, request)
  const read: number[] = []
  for await (const _ of body ?? []) read.push(clock())
  const writes = (await stage.log()).flatMap((response) => response.writes.map(({ sent }) => sent))
  // Writes of one moment may be read together: each read counts from the latest write before it.
  const lags = read.map((time) => time - Math.max(...writes.filter((sent) => sent <= time)))
  const p50 = median(lags)
  const [, max] = range(lags) ?? []
  return p50 === undefined || max === undefined ? null : { p50: Number(p50.toFixed(3)), max: Number(max.toFixed(3)) }
}

const PROBE = { ...SCENARIOS.a, pace: { firstToken: 4, betweenTokens: 4 } }
