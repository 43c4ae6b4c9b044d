/** The same model, whose responses fail when they are silent for too long, or end without having ended well. */

import { type Model, type StreamEvent, Usage } from '@openai/agents'
import { BROKEN, cutOff, endedWith } from '../../resilient/failure.ts'
import { limitedEvents } from '../../resilient/limited-events.ts'
import type { SilenceLimits } from '../../resilient/options.ts'
import type { RawEvent } from '../raw-event.ts'

type ReportedUsage = Extract<StreamEvent, { readonly type: 'response_done' }>['response']['usage']

export interface LimitRules extends SilenceLimits {
  /** Chat Completions: a response without a finish reason is cut off. */
  readonly finishes: boolean
}

/** What responses that do not count have reported, by their errors. */
const usages: WeakMap<object, Usage> = new WeakMap()

/** The usage that a failed response has reported; `undefined` if it has reported none. */
export function usageOf(error: unknown): Usage | undefined {
  return typeof error === 'object' && error !== null ? usages.get(error) : undefined
}

export function limitedModel(model: Model, limits: LimitRules): Model {
  return {
    getResponse: (request) => model.getResponse(request),
    getStreamedResponse: (request) =>
      wholeEvents(
        limitedEvents((signal) => model.getStreamedResponse({ ...request, signal }), {
          limits,
          signal: request.signal,
          isOutput,
        }),
        limits,
      ),
  }
}

/** Throws unless the response has ended well. Then nothing can be missing any more, and later errors are dropped. */
async function* wholeEvents(
  events: AsyncIterable<StreamEvent>,
  { finishes }: LimitRules,
): AsyncGenerator<StreamEvent, void> {
  let isChat = false
  let reason: string | undefined
  let isDone = false
  try {
    for await (const event of events) {
      const choices = event.type === 'model' ? choicesOf(event.event) : undefined
      isChat ||= choices !== undefined
      for (const { index, finish_reason } of choices ?? []) if (index === 0) reason = finish_reason ?? reason
      if (event.type === 'response_done') {
        // The SDK makes a response of any chunks, also of too few.
        if (isChat && finishes && reason === undefined) throw cutOff('finish reason (without any, set finishes: false)')
        if (reason !== undefined && BROKEN.has(reason)) throw reporting(event.response.usage, endedWith(reason))
        isDone = true
      }
      yield event
    }
  } catch (error) {
    if (!isDone) throw error
  }
  if (!isDone) throw cutOff('response_done event')
}

/** The error, which has the usage of its response. Chat Completions counts no tokens if the provider does not report any. */
function reporting(usage: ReportedUsage, error: Error): Error {
  if (usage.totalTokens > 0) usages.set(error, countedUsage(usage))
  return error
}

/** As the SDK adds it up. */
export function countedUsage({ requests = 1, requestUsageEntries = [], ...tokens }: ReportedUsage): Usage {
  const entries = requestUsageEntries.map(({ endpoint, ...its }) => ({
    ...its,
    ...(endpoint !== undefined && { endpoint }),
  }))
  return new Usage({ requests, requestUsageEntries: entries, ...tokens })
}

function choicesOf(raw: RawEvent | undefined): RawEvent['choices'] {
  return Array.isArray(raw?.choices) ? raw.choices : undefined
}

/** Whether it is something that the model has written, and not only a sign of life. */
function isOutput(event: StreamEvent): boolean {
  if (event.type !== 'model') return event.type !== 'response_started'
  const raw: RawEvent | undefined = event.event
  const choices = choicesOf(raw)
  if (choices) return choices.some(({ delta }) => Object.values({ ...delta, role: undefined }).some(Boolean))
  return raw?.type?.endsWith('.delta') ?? true
}
