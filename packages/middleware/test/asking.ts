/** A run that asks, and goes on. */

import { type Agent, type AgentResult, interrupt, type Tool, tool } from '@meanwhile/core'
import { z } from 'zod'

/** Interrupts the run until it has an answer; then it says `Well.` */
export const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute(_, { answers }) {
    if (answers.length === 0) throw interrupt('Well?')
    return 'Well.'
  },
}) as Tool

/** Goes on from what is left of a checkpoint when it was written down, with `null` as the answer to all that was asked. */
export function goneOn(agent: Agent, { checkpoint, interrupts = [] }: AgentResult): Promise<AgentResult> {
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, null]))
  return agent.resume(JSON.parse(JSON.stringify(checkpoint)), answers).result
}
