/** Runs an agent with one tool call and without one, and sends the functions that only the first run enters. */

import { Session } from 'node:inspector/promises'
import { createAgent, type Model, type ToolCall, tool } from '@meanwhile/core'
import { z } from 'zod'
import type { EnteredFunction } from './entered.ts'

const CALL: ToolCall = { type: 'tool-call', id: 'call_1', name: 'look', input: { city: 'Turin' } }

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ city: z.string() }),
  execute: () => 'ok',
})

/** A model that calls the tool, if `withCall`, and then answers. */
function modelOf(withCall: boolean): Model {
  return {
    provider: 'none',
    id: 'none',
    async *stream({ messages }) {
      if (!withCall || messages.length > 1) {
        return { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }
      }
      yield { type: 'tool-call', call: CALL }
      return { role: 'assistant', content: [CALL], finishReason: 'tool-calls' }
    },
  }
}

/** By file and position: the named functions that are entered between the call of `stream` and the end of the run. */
async function entered(session: Session, withCall: boolean): Promise<ReadonlyMap<string, EnteredFunction>> {
  const agent = createAgent({ model: modelOf(withCall), tools: [look] })
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  // Discards earlier counts.
  await session.post('Profiler.takePreciseCoverage')
  for await (const _ of agent.stream('Go.'));
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const all = result.flatMap(({ url, functions }) => {
    const file = /\/packages\/core\/src\/(.*)$/.exec(url)?.[1]
    if (file === undefined) return []
    return functions.flatMap(({ functionName: name, ranges: [range] }) =>
      name && range && range.count > 0 ? [[`${file}:${range.startOffset}`, { file, name }] as const] : [],
    )
  })
  return new Map(all)
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
// Work that is done once per process does not belong to a call.
await entered(session, true)
const without = await entered(session, false)
const withCall = await entered(session, true)
session.disconnect()
process.send?.([...withCall].flatMap(([place, one]) => (without.has(place) ? [] : [one])))
process.disconnect()
