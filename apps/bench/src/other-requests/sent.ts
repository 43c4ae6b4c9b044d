/** Gives each input to a library, and collects the rules that its requests break. */

import { messageOf } from '@meanwhile/core'
import { type Refusal, rules } from '@meanwhile/harness/rules'
import { serveModels, type WireName } from '@meanwhile/harness/server'
import type { PeerRun } from '../peers/driver.ts'
import { INPUTS } from './inputs.ts'

/** The result of one input on one wire. */
export interface Sent {
  readonly input: string
  readonly wire: WireName
  /** The first place where each rule was broken. */
  readonly refusals: readonly Refusal[]
  /** Why the run ended with an error, if it did. */
  readonly error?: string
}

/** The longest that one input may take, in milliseconds. */
const TIME = 30_000

const likely = rules.filter(({ sure }) => sure === 'likely').map(({ id }) => id)

/** Whatever a library sends is accepted. */
export async function sentBy(run: PeerRun, wire: WireName): Promise<readonly Sent[]> {
  const all: Sent[] = []
  for (const { name, tools, script, result } of INPUTS) {
    await using server = await serveModels({ script, rules: { apply: 'report', also: likely } })
    const error = await run({
      wire,
      url: server.url,
      prompt: 'How is the weather?',
      tools,
      work: async () => result,
      signal: AbortSignal.timeout(TIME),
      dropIn: (wrapped) => wrapped,
    }).then(() => undefined, messageOf)
    const found = new Map<string, Refusal>()
    for (const { refusals = [] } of await server.requests()) {
      for (const refusal of refusals) if (!found.has(refusal.rule)) found.set(refusal.rule, refusal)
    }
    all.push({
      input: name,
      wire,
      refusals: [...found.values()],
      ...(error !== undefined && { error }),
    })
  }
  return all
}
