/** Makes a side call to a model: it has a span and usage, but no step and no events, and only the wraps with `aroundSideCalls`. */

import type { Context } from '@opentelemetry/api'
import { rejectInTurn } from '../flow/event-loop.ts'
import { settle } from '../flow/flow.ts'
import { compose, type WrapKind } from '../middleware/compose.ts'
import { checkedRequest, WRAP_MODEL_EVENTS } from '../middleware/hook-problems.ts'
import { type Actor, checkNotLeft } from '../state/actor.ts'
import type { RunState } from '../state/run.ts'
import type { SideRequest } from '../vocabulary/call-options.ts'
import { freeze, isAssistantMessage } from '../vocabulary/history.ts'
import type { AssistantMessage } from '../vocabulary/message.ts'
import { withFittingReason } from '../vocabulary/message-shape.ts'
import type { ModelRequest } from '../vocabulary/model.ts'
import { attemptFlow, type WrapModelEvent } from './attempt.ts'

/** Implements `run.callModel`. A caller that does not wait for it need not handle its errors. */
export function makeSideCall(
  run: RunState,
  actor: Actor,
  signal: AbortSignal,
  request: SideRequest,
): Promise<AssistantMessage> {
  const { sideCalls } = run
  const end = sideCalls.endFor(actor)
  if (end) return rejectInTurn(end)
  try {
    checkNotLeft(actor, 'callModel')
  } catch (error) {
    return rejectInTurn(error)
  }
  const controller = new AbortController()
  const stop = AbortSignal.any([signal, controller.signal])
  const message = callModelOnSide(run, actor.context, stop, request)
  sideCalls.add(actor, controller, message)
  return message
}

async function callModelOnSide(
  run: RunState,
  parent: Context,
  signal: AbortSignal,
  request: SideRequest,
): Promise<AssistantMessage> {
  const { config, setup, history } = run
  const whole = {
    model: setup.model,
    instructions: '',
    tools: [],
    toolChoice: 'none',
    settings: config.settings,
    inputLimits: config.inputLimits,
    takenIds: history.ids,
    ...request,
    signal: request?.signal ? AbortSignal.any([request.signal, signal]) : signal,
  } as const
  let attempts = 0
  // No observer: the run shows nothing of it, and does not run the calls that the model may request.
  const alone = { started: () => ++attempts }
  const onion = compose(run, AROUND, (request, context) => attemptFlow(run, request, context, alone))
  try {
    return freeze(await settle(onion(checkedRequest(whole), parent)))
  } catch (error) {
    // The caller was stopped. Its reason must be thrown, because a failure of the model would end the run.
    if (whole.signal.aborted) throw whole.signal.reason
    throw error
  }
}

const AROUND: WrapKind<ModelRequest, WrapModelEvent, AssistantMessage> = {
  hook: 'wrapModel',
  of: (middleware) => (middleware.aroundSideCalls ? middleware.wrapModel?.bind(middleware) : undefined),
  handed: checkedRequest,
  events: WRAP_MODEL_EVENTS,
  isResult: isAssistantMessage,
  fitted: withFittingReason,
}
