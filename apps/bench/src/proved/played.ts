/** Plays one script to a library's loop or to ours, and says what it did. */

import type { ScriptResponse } from '@meanwhile/assemble/testing'
import { createAgent, type Effect, messageOf, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { serveModels, type WireName } from '@meanwhile/harness/server'
import { z } from 'zod'
import { modelOf } from '../agents.ts'
import type { Load, PeerRun, PeerTool } from '../peers/driver.ts'
import type { Trial } from './row.ts'

export interface Played {
  readonly wire: WireName
  readonly script: readonly ScriptResponse[]
  readonly signal?: AbortSignal
  /** Called in the tool, before it returns. */
  readonly inTool?: () => void
}

export const SEND: PeerTool = {
  name: 'send',
  description: 'Sends a message.',
  schema: {
    type: 'object',
    properties: { to: { type: 'string' }, text: { type: 'string' } },
    required: ['to', 'text'],
    additionalProperties: false,
  },
}

/** The longest that one run may take, in milliseconds. */
const TIME = 120_000

/** `send ran with {…}; the answer is "Done."` */
export async function played(run: PeerRun, { wire, script, signal, inTool }: Played): Promise<string> {
  await using server = await serveModels({ script, rules: 'report' })
  const inputs: string[] = []
  const answer = run({
    wire,
    url: server.url,
    prompt: 'Tell Bo.',
    tools: [SEND],
    signal: signal ?? AbortSignal.timeout(TIME),
    dropIn: (wrapped) => wrapped,
    async work({ input }) {
      inputs.push(JSON.stringify(input))
      inTool?.()
      return 'Sent.'
    },
  })
  const end = await answer.then(
    (text) => (text === '' ? 'the run ended without an answer' : `the answer is "${text}"`),
    (error) => `the run failed: ${messageOf(error)}`,
  )
  const ran = inputs.length === 0 ? 'no tool ran' : inputs.map((input) => `the tool ran with ${input}`).join(', ')
  return `${ran}; ${end}`
}

/** Our agent with eager tools, in the place of a library. */
export const own =
  (effect: Effect): PeerRun =>
  async ({ wire, url, prompt, tools, work, signal }) => {
    const made = tools.map(({ name, description }) =>
      tool({
        name,
        description,
        input: z.strictObject({ to: z.string(), text: z.string() }),
        effect,
        ...(effect === 'reversible' && { compensate: () => undefined }),
        execute: (input, context) => work({ callId: context.callId, tool: name, input }, context.signal),
      }),
    )
    const agent = createAgent({ model: modelOf(wire, { url }), tools: made, middleware: [eagerTools()] })
    const { text } = await agent.run(prompt, { signal })
    return text
  }

interface PlayedTrial extends Pick<Trial, 'folder' | 'packages' | 'right' | 'expected'> {
  readonly input: Played
  readonly driver: (load: Load) => Promise<PeerRun>
  /** The effect that our tool declares. */
  readonly effect: Effect
}

/** A trial in which both play the same script, and nothing more is observed. */
export function playedTrial({ input, driver, effect, ...trial }: PlayedTrial): Trial {
  return {
    ...trial,
    theirs: async (load) => await played(await driver(load), input),
    ours: async () => await played(own(effect), input),
  }
}
