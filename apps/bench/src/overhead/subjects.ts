/** The runs whose spans are measured: one with many spans, and one with many deltas. */

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Message, type Middleware, type Model, type ToolCall, tool } from '@meanwhile/core'
import type { TracerProvider } from '@opentelemetry/api'
import { z } from 'zod'

export interface Subject {
  /** In one run. */
  readonly spans: number
  /** In one run, each counted for every layer that it passes: the middleware, and the model attempt. */
  readonly deltas: number
  readonly layers: number
  /** Makes runs one after another; without a provider they have no SDK. `after` is called after each. */
  runs(count: number, tracerProvider?: TracerProvider, after?: () => void): Promise<void>
}

/** Six steps, with four tool calls in all except the last, and two hooks in each. The model sends whole calls: deltas have their own limit. */
export function manySpans(): Subject {
  const hooks: Middleware = { name: 'hooks', beforeModel: () => undefined, afterModel: () => undefined }
  const model: Model = {
    ...NOBODY,
    async *stream({ messages }) {
      const step = stepOf(messages)
      if (step === 5) return { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }
      const ids = Array.from({ length: 4 }, (_, index) => `call-${step}-${index}`)
      const calls = ids.map((id): ToolCall => ({ type: 'tool-call', id, name: 'look', input: { city: 'Turin' } }))
      for (const call of calls) yield { type: 'tool-call', call }
      return { role: 'assistant', content: calls, finishReason: 'tool-calls' }
    },
  }
  return { spans: 1 + 6 + 20 + 12, deltas: 0, layers: 1, runs: runsOf(model, [hooks]) }
}

/** One step, 400 words, and four wraps around the model. */
export function manyDeltas(): Subject {
  const wraps = Array.from(
    { length: 4 },
    (_, index): Middleware => ({ name: `w${index}`, wrapModel: (request, next) => next(request) }),
  )
  const text = Array.from({ length: 400 }, () => 'word').join(' ')
  const model: Model = { ...NOBODY, stream: (request) => scriptedModel([respond(say(text))]).stream(request) }
  return { spans: 1 + 1 + 4, deltas: 400, layers: 5, runs: runsOf(model, wraps) }
}

const NOBODY = { provider: 'none', id: 'none' }

function stepOf(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'assistant').length
}

function runsOf(model: Model, middleware: readonly Middleware[]): Subject['runs'] {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ city: z.string() }),
    execute: () => 'ok',
  })
  return async (count, tracerProvider, after) => {
    const telemetry = tracerProvider && { telemetry: { tracerProvider } }
    const agent = createAgent({ model, tools: [look], middleware, ...telemetry })
    for (let run = 0; run < count; run++) {
      await agent.run('How is the weather?')
      after?.()
    }
  }
}
