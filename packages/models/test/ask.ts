/** Calls a model once, for the tests of the adapters. */

import { end, respond, say } from '@meanwhile/assemble/testing'
import {
  type AssistantMessage,
  DEFAULT_INPUT_LIMITS,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from '@meanwhile/core'
import { mockModels, type RulesChoice, type RulesLevel, recordedResponse } from '@meanwhile/harness'
import { aiSdk } from '../src/ai-sdk.ts'
import type { RealModel } from './real-models.ts'
import type { TestWire } from './wires.ts'

export interface Asked {
  readonly events: readonly ModelEvent[]
  readonly message: AssistantMessage
}

/** The model's response to this request; missing members have defaults. */
export async function ask(model: Model, request: Partial<ModelRequest> = {}): Promise<Asked> {
  const events: ModelEvent[] = []
  const flow = model.stream(requestTo(model, request))
  for (;;) {
    const { done, value } = await flow.next()
    if (done) return { events, message: value }
    events.push(value)
  }
}

export function requestTo(model: Model, request: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    instructions: '',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [],
    toolChoice: 'auto',
    settings: {},
    inputLimits: DEFAULT_INPUT_LIMITS,
    takenIds: new Set(),
    signal: new AbortController().signal,
    ...request,
  }
}

/** The response read from these events of a wire. */
export function read(wire: TestWire, events: readonly object[], request: Partial<ModelRequest> = {}): Promise<Asked> {
  const script = [
    recordedResponse(
      wire.name,
      events.map((event) => JSON.stringify(event)),
    ),
  ]
  return ask(wire.model(mockModels({ script }).fetch), request)
}

/** The error of a failed call. */
export function failureOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** The body of this request on a wire, for a provider that keeps these rules. */
export async function bodyOf(
  wire: TestWire,
  request: Partial<ModelRequest>,
  model: TestWire['model'] = wire.model,
  rules: RulesLevel | RulesChoice = 'certain',
): Promise<unknown> {
  const mock = mockModels({
    rules,
    script: [
      recordedResponse(
        wire.name,
        wire.hello.map((event) => JSON.stringify(event)),
      ),
    ],
  })
  await ask(model(mock.fetch), request)
  return mock.requests[0]?.body
}

/** The body of this request through the AI SDK, whose packages read no end of a response without usage. */
export async function bodyThrough({ model }: RealModel, request: Partial<ModelRequest>): Promise<unknown> {
  const mock = mockModels({ script: [respond(say('Hello'), end({ usage: { inputTokens: 1, outputTokens: 1 } }))] })
  await ask(aiSdk(model(mock.fetch)), request)
  return mock.requests[0]?.body
}
