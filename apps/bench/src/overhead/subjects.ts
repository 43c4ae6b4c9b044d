/** The runs whose spans are measured: one with many spans, and one with many deltas. */

import { createAgent, type Middleware, type Model, tool } from '@meanwhile/core'
import { call, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/core/testing'
import type { TracerProvider } from '@opentelemetry/api'
import { z } from 'zod'

export interface Subject {
  /** Of one run. */
  readonly spans: number
  /** Of one run, each on its way up through so many layers: those of the middleware, and the model attempt. */
  readonly deltas: number
  readonly layers: number
  /** Makes runs one after another; without a provider they have no SDK. */
  runs(count: number, tracerProvider?: TracerProvider): Promise<void>
}

/** Six steps, in each but the last four tool calls, and in each two hooks. */
export function manySpans(): Subject {
  const script = Array.from({ length: 5 }, (_, step) =>
    respond(
      ...Array.from({ length: 4 }, (_, index) =>
        call('look', { city: 'Turin' }, { id: `call-${step}-${index}`, deltas: 1 }),
      ),
    ),
  )
  const hooks: Middleware = { name: 'hooks', beforeModel: () => undefined, afterModel: () => undefined }
  const responses = [...script, respond(say('Done.', { deltas: 1 }))]
  return { spans: 1 + 6 + 20 + 12, deltas: 21, layers: 1, runs: runsOf(responses, [hooks]) }
}

/** One step, 400 words, and four wraps round the model. */
export function manyDeltas(): Subject {
  const wraps = Array.from(
    { length: 4 },
    (_, index): Middleware => ({ name: `w${index}`, wrapModel: (request, next) => next(request) }),
  )
  const script = [respond(say(Array.from({ length: 400 }, () => 'word').join(' ')))]
  return { spans: 1 + 1 + 4, deltas: 400, layers: 5, runs: runsOf(script, wraps) }
}

function runsOf(script: readonly ScriptedResponse[], middleware: readonly Middleware[]): Subject['runs'] {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ city: z.string() }),
    execute: () => 'ok',
  })
  const model: Model = {
    provider: 'none',
    id: 'none',
    stream(request) {
      const response = script[request.messages.filter(({ role }) => role === 'assistant').length]
      return scriptedModel(response ? [response] : []).stream(request)
    },
  }
  return async (count, tracerProvider) => {
    const telemetry = tracerProvider && { telemetry: { tracerProvider } }
    const agent = createAgent({ model, tools: [look], middleware, ...telemetry })
    for (let run = 0; run < count; run++) await agent.run('How is the weather?')
  }
}
