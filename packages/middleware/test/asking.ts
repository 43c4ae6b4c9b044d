/** A tool that interrupts the run, and a resume after it. */

import { type Agent, type AgentResult, interrupt, type Tool, tool } from '@meanwhile/core'
import { z } from 'zod'

/** Interrupts the run until it has an answer; then it returns `Well.` */
export const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute(_, { answers }) {
    if (answers.length === 0) throw interrupt('Well?')
    return 'Well.'
  },
}) as Tool

/** Resumes from a checkpoint that was serialized as JSON, with `null` as the answer to every question. */
export function goneOn(agent: Agent, { checkpoint, interrupts = [] }: AgentResult): Promise<AgentResult> {
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, null]))
  return agent.resume(JSON.parse(JSON.stringify(checkpoint)), answers).result
}
