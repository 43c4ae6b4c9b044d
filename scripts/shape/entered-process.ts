/** Makes a run with one tool call and a run without, and sends what is entered in the first only. */

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

/** A step that calls the tool, if it is to, and one that answers. */
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

/** By file and place: the functions that have a name and are entered from the call of `stream` to the end of the run. */
async function entered(session: Session, withCall: boolean): Promise<ReadonlyMap<string, EnteredFunction>> {
  const agent = createAgent({ model: modelOf(withCall), tools: [look] })
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  // What was counted before is let go of.
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
// What is done once in a process is no part of a call.
await entered(session, true)
const without = await entered(session, false)
const withCall = await entered(session, true)
session.disconnect()
process.send?.([...withCall].flatMap(([place, one]) => (without.has(place) ? [] : [one])))
process.disconnect()
