/** What `redact({ persist: true })` masks in each event of a run. */

import type { AgentEvent, AgentFlow, AgentResult, Json, Message, ModelEvent } from '@meanwhile/core'
import { DECIDED } from '../decision-record.ts'
import { maskedData } from './masked-data.ts'
import type { MaskedMessages } from './masked-messages.ts'
import type { MaskedResponse } from './masked-response.ts'
import type { Masker } from './masker.ts'

/** What masks the events of a run. */
export interface RunMasks {
  readonly masker: Masker
  readonly messages: MaskedMessages
  /** Makes the masks of the responses in a run inside a call. */
  response(): InnerResponse
}

/** The events of a response as the reader of the run gets them. */
export type InnerResponse = MaskedResponse<{ readonly attempt: number } & Pick<AgentEvent, 'runId' | 'step' | 'path'>>

/** Masks the events of a run, and of the runs inside its calls. The responses of the run itself are masked in its model calls. */
export async function* maskedRunEvents(flow: AgentFlow, masks: RunMasks): AgentFlow {
  /** The responses of the runs inside, by run id. */
  const inside = new Map<string, InnerResponse>()
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
    const event = step.value
    if (event.path) {
      const response = inside.get(event.runId) ?? masks.response()
      inside.set(event.runId, response)
      if (isOfModel(event)) {
        yield* response.shown(event)
        continue
      }
      if (event.type === 'attempt-failed' || event.type === 'attempt-cancelled') yield* response.rest(event.attempt)
      if (event.type === 'message') yield* response.rest()
      if (event.type === 'run-end') inside.delete(event.runId)
    }
    yield masked(event, masks)
  }
}

const MODEL_EVENTS: ReadonlySet<string> = new Set<ModelEvent['type']>([
  'text-delta',
  'reasoning-delta',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-ready',
  'tool-input-closed',
  'tool-call',
])

function isOfModel(event: AgentEvent): event is Extract<AgentEvent, { readonly type: ModelEvent['type'] }> {
  return MODEL_EVENTS.has(event.type)
}

/** A new type of events does not compile without its case. */
function masked(event: AgentEvent, { masker, messages }: RunMasks): AgentEvent {
  const isInside = event.path !== undefined
  // The hook before the next model call masks a user message in the history, such as feedback or the result of a background call.
  const told = (message: Message) => (isInside || message.role === 'user' ? messages.one(message) : message)
  switch (event.type) {
    case 'tool-progress':
      return {
        ...event,
        ...(event.message !== undefined && { message: masker.mask(event.message) }),
        ...(event.metadata !== undefined && { metadata: maskedData(masker, event.metadata) as Json }),
      }
    case 'question':
      return { ...event, payload: maskedData(masker, event.payload) as Json }
    case 'answer-rejected': {
      const { feedback } = event
      return { ...event, feedback: typeof feedback === 'string' ? masker.mask(feedback) : messages.history(feedback) }
    }
    case 'warning':
      return { ...event, message: masker.mask(event.message) }
    // What is decided stays stored in threads. The data of other events is their sender's.
    case 'custom':
      return event.name === DECIDED ? { ...event, data: maskedData(masker, event.data) } : event
    case 'tool-settled':
    case 'tool-end':
    case 'background-end':
      return isInside ? { ...event, message: messages.result(event.message) } : event
    case 'message':
      return { ...event, message: told(event.message) }
    case 'history-replaced':
    case 'step-end':
      return { ...event, messages: event.messages.map(told) }
    case 'run-end': {
      // Only the end of a run inside gets here. Its handles of background work contain promises.
      const { background } = event.result
      const result = maskedData(masker, event.result) as AgentResult
      return { ...event, result: Object.assign({}, result, background && { background }) }
    }
    // Masked in the model calls of the run. Tools get the inputs of their calls as the model wrote them.
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-ready':
    case 'tool-input-closed':
    case 'tool-call':
    case 'tool-start':
    // An error is passed on unchanged.
    case 'attempt-failed':
    // These say nothing.
    case 'run-start':
    case 'step-start':
    case 'attempt-start':
    case 'attempt-cancelled':
    case 'tool-entered':
    case 'tool-committed':
    case 'tool-discarded':
      return event
  }
}
