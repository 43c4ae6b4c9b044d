/** pi: if a listener throws, the result of a tool that has run is not in the history. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { AgentError, createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'
import { played } from '../played.ts'
import type { Row } from '../row.ts'
import { PI, type PiAgent, pi } from './pi.ts'

const script = [respond(call('send', { to: 'Bo', text: 'Hi.' })), respond(say('Done.'))]

const roles = (messages: readonly { readonly role: string }[]): string =>
  `the history is ${messages.map(({ role }) => role).join(', ')}`

export const lostResult: Row = {
  title: 'A listener that throws when a tool has run',
  library: 'pi',
  thread: { name: 'earendil-works/pi#9599', status: '2026-09, closed as no-action' },
  note: 'What differs: pi’s listener is one of `subscribe`, ours the reader of a `for await` loop. The run fails in both; the history is what the application stores and goes on with. `toolResult` is pi’s role for a result.',
  test: {
    file: 'packages/core/src/run/reader.test.ts',
    title: 'a reader that throws when a tool has ended leaves its result in the history of the error',
  },
  trial: {
    folder: 'libraries',
    packages: PI,
    right: 'ours',
    async theirs(load) {
      const agents: PiAgent[] = []
      const run = await pi(load, (agent) => {
        agents.push(agent)
        agent.subscribe(({ type }) => {
          if (type === 'tool_execution_end') throw new Error('the disk is full')
        })
      })
      await played(run, { wire: 'anthropic', script })
      return roles(agents.flatMap(({ state }) => state.messages))
    },
    async ours() {
      const send = tool({
        name: 'send',
        description: 'Sends a message.',
        input: z.looseObject({}),
        execute: () => 'Sent.',
      })
      const run = createAgent({ model: scriptedModel(script), tools: [send] }).stream('Tell Bo.')
      try {
        for await (const { type } of run) if (type === 'tool-end') throw new Error('the disk is full')
      } catch {
        // The reader's own error: the run ends with it.
      }
      const error: unknown = await run.result.catch((error: unknown) => error)
      return roles((error instanceof AgentError && error.messages) || [])
    },
    expected: {
      theirs: 'the history is system, user, assistant, assistant',
      ours: 'the history is user, assistant, tool',
    },
  },
}
