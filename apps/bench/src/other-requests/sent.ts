/** Gives each input to a library, and collects its requests and the rules that they break. */

import { messageOf } from '@meanwhile/core'
import { type Refusal, rules } from '@meanwhile/harness/rules'
import { serveModels, type WireName } from '@meanwhile/harness/server'
import type { PeerRun } from '../peers/driver.ts'
import { INPUTS, type Input } from './inputs.ts'

/** The result of one input on one wire. */
export interface Sent {
  readonly input: string
  readonly wire: WireName
  readonly requests: readonly SentRequest[]
  /** The first place where each rule was broken. */
  readonly refusals: readonly Refusal[]
  /** Why the run ended with an error, if it did. */
  readonly error?: string
}

export interface SentRequest {
  readonly url: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The longest that one input may take, in milliseconds. */
const TIME = 30_000

const likely = rules.filter(({ sure }) => sure === 'likely').map(({ id }) => id)

export async function sentBy(
  run: PeerRun,
  wire: WireName,
  inputs: readonly Input[] = INPUTS,
): Promise<readonly Sent[]> {
  const all: Sent[] = []
  for (const input of inputs) {
    const send = (url: string, signal: AbortSignal) =>
      run({
        wire,
        url,
        prompt: 'How is the weather?',
        tools: input.tools,
        work: async () => input.result,
        signal,
        dropIn: (wrapped) => wrapped,
      })
    all.push(await judged(input, wire, send))
  }
  return all
}

/** Whatever `send` sends is accepted, and answered from the input's script. */
export async function judged(
  { name, script }: Input,
  wire: WireName,
  send: (url: string, signal: AbortSignal) => Promise<unknown>,
): Promise<Sent> {
  await using server = await serveModels({ script, rules: { apply: 'report', also: likely } })
  const error = await send(server.url, AbortSignal.timeout(TIME)).then(() => undefined, messageOf)
  const requests = await server.requests()
  const found = new Map<string, Refusal>()
  for (const { refusals = [] } of requests) {
    for (const refusal of refusals) if (!found.has(refusal.rule)) found.set(refusal.rule, refusal)
  }
  return { input: name, wire, requests, refusals: [...found.values()], ...(error !== undefined && { error }) }
}
