/** Runs the loop inside every `wrapAgent`. */

import { drive } from '../flow/flow.ts'
import { wrapLeft } from '../flow/follow.ts'
import { pull } from '../flow/pull.ts'
import { compose, type WrapKind } from '../middleware/compose.ts'
import { type EventShapes, STAMP, WRAP_MODEL_EVENTS } from '../middleware/hook-problems.ts'
import type { RunState } from '../state/run.ts'
import { abortCalls } from '../tool-call/commit-or-discard.ts'
import type { AgentEvent } from '../vocabulary/events.ts'
import { freezePlain } from '../vocabulary/frozen.ts'
import { isAssistantMessage, isHistory } from '../vocabulary/history.ts'
import { isRecord } from '../vocabulary/json.ts'
import { callsOf } from '../vocabulary/message.ts'
import { withFittingReason } from '../vocabulary/message-shape.ts'
import type { CompletedResult } from '../vocabulary/result.ts'
import type { AgentSetup } from '../vocabulary/tool.ts'
import { loop } from './loop.ts'
import { checkedSetup, withOwnTools } from './set-up.ts'

/** Runs the loop with the run's set-up, or with the set-up that a wrap passes on. */
export function wrappedLoop(run: RunState): Promise<CompletedResult> {
  const { middleware, setup, context, events } = run
  // Without a `wrapAgent` between the steps and the reader, events need no flow.
  if (!middleware.some(({ wrapAgent }) => wrapAgent)) return loop(run, setup, context)
  const onion = compose(run, wrapAgent(run), (setup, context) =>
    pull(
      events.funnel,
      () => loop(run, withOwnTools(setup), context),
      () => abandon(run),
    ),
  )
  return drive(onion(setup, context), (event) => {
    events.throwIfOver()
    events.show(event)
  })
}

/** Called when a wrap has ended early: the current step, if there is one, waits for nothing more. */
function abandon(run: RunState): void {
  const { steps, halt } = run
  if (steps.state.loop !== 'running') return
  steps.left.abort(wrapLeft())
  halt.leaveRequest()
  abortCalls(run, wrapLeft())
}

/** The shapes of run events, with run id and step. A `custom` event of a wrap may lack these. */
const AGENT_EVENTS: EventShapes<AgentEvent['type']> = {
  'run-start': STAMP,
  'run-end': { ...STAMP, result: isRecord },
  'step-start': STAMP,
  message: { ...STAMP, message: isRecord },
  'history-replaced': { ...STAMP, messages: Array.isArray },
  'step-end': { ...STAMP, messages: Array.isArray },
  'attempt-start': { ...STAMP, model: isRecord },
  'attempt-cancelled': STAMP,
  'tool-start': { ...STAMP, call: isRecord },
  'tool-entered': STAMP,
  'tool-progress': STAMP,
  'tool-settled': { ...STAMP, message: isRecord },
  'tool-committed': STAMP,
  'tool-discarded': STAMP,
  'tool-end': { ...STAMP, message: isRecord },
  'background-end': { ...STAMP, message: isRecord },
  question: STAMP,
  'answer-rejected': STAMP,
  warning: STAMP,
  ...WRAP_MODEL_EVENTS,
}

function wrapAgent(run: RunState): WrapKind<AgentSetup, AgentEvent, CompletedResult> {
  const { steps } = run
  return {
    hook: 'wrapAgent',
    of: (middleware) => {
      const wrap = middleware.wrapAgent?.bind(middleware)
      return (
        wrap &&
        ((setup, next, view) => {
          let calls = 0
          const counted = (changed: AgentSetup) => {
            if (++calls > 1) steps.repeater = middleware.name
            return next(changed)
          }
          return wrap(setup, counted, view)
        })
      )
    },
    handed: (setup) => checkedSetup(run, setup),
    events: AGENT_EVENTS,
    isResult,
    fitted: withReasonOfAnswer,
  }
}

function isResult(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { status, message, messages } = value
  return status === 'completed' && isHistory([message]) && isHistory(messages)
}

/** The result of a tool has no finish reason, so the run's result has that of the response which requested the tool. */
function withReasonOfAnswer(result: CompletedResult): CompletedResult {
  if (!isAssistantMessage(result.message)) return freezePlain(result)
  const message = withFittingReason(result.message)
  const fits = result.finishReason !== 'tool-calls' || callsOf(message).length > 0
  return freezePlain({ ...result, message, finishReason: fits ? result.finishReason : message.finishReason })
}
