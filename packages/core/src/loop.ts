/** The ReAct loop: ask the model, make the calls it asks for, until an answer stands. */

import type { Context } from '@opentelemetry/api'
import { compose, type WrapKind } from './compose.ts'
import { checkSetup } from './config.ts'
import { causeOf } from './discard-cause.ts'
import type { AgentEvent, AgentResult, DiscardCause } from './events.ts'
import type { Flow } from './flow.ts'
import { askGate } from './gate.ts'
import { checkPairs } from './history.ts'
import { stateProblem } from './hook-problems.ts'
import { runHooks } from './hooks.ts'
import { type AssistantMessage, allowsCalls, callsOf, type ToolCall, type ToolMessage, textOf } from './message.ts'
import type { AgentFlow, AgentSetup, AgentState } from './middleware.ts'
import { callModel } from './model-call.ts'
import { requestOf } from './request.ts'
import type { RunState } from './run.ts'
import { forbiddenText, stepLimitText, textMessage } from './tool-message.ts'

/** A whole run: set up, then step by step inside all `wrapAgent`s. */
export async function* runAgent(run: RunState): AgentFlow {
  run.setup = checkSetup(yield* run.funnel.until(runHooks(run, 'beforeAgent', run.setup)))
  const onion = compose(run, wrapAgent(run), (setup, context) => begun(run, checkSetup(setup), context))
  return yield* onion(run.setup, run.context)
}

async function* begun(run: RunState, setup: AgentSetup, context: Context): AgentFlow {
  run.begin(setup, context)
  try {
    return yield* steps(run)
  } finally {
    run.leave()
  }
}

async function* steps(run: RunState): AgentFlow {
  for (;;) {
    const before = new Set(run.messages)
    run.nextStep()
    yield* run.tell({ type: 'step-start' })
    const { answer, attempt } = yield* think(run)
    const candidate = yield* act(run, answer, attempt)
    const accepted = candidate && (yield* askGate(run, candidate, answer.finishReason))
    const messages = run.messages.filter((message) => !before.has(message))
    yield* run.tell({ type: 'step-end', ...(attempt !== undefined && { attempt }), messages })
    if (accepted) return resultOf(run, candidate, accepted, answer)
  }
}

interface Thought {
  readonly answer: AssistantMessage
  /** The model attempt that stood; absent if a wrap answered itself. */
  readonly attempt?: number
}

/** One model call: from the state to the message that stands. */
async function* think(run: RunState): Flow<AgentEvent, Thought> {
  run.remember(
    yield* run.funnel.until(runHooks<AgentState>(run, 'beforeModel', { messages: run.messages }, stateProblem)),
  )
  checkPairs(run.messages)
  run.calls.open()
  try {
    const { message, attempt } = yield* callModel(run, requestOf(run))
    run.append(message)
    if (isEmpty(message))
      run.warn({ code: 'empty-answer', message: 'the model answered with neither text nor call', source: 'core' })
    const state = yield* run.funnel.until(
      runHooks<AgentState>(run, 'afterModel', { messages: run.messages }, answerProblem),
    )
    run.remember(state)
    return { answer: lastAnswer(state) ?? message, ...(attempt !== undefined && { attempt }) }
  } catch (error) {
    run.calls.discardRest(causeOf(error))
    throw error
  }
}

/** Makes the calls of a response. Gives the candidate for the final answer, if there is one. */
async function* act(
  run: RunState,
  answer: AssistantMessage,
  attempt?: number,
): Flow<AgentEvent, AnyAnswer | undefined> {
  const calls = callsOf(answer)
  const refusal = calls.length > 0 ? refusalOf(run, answer, calls) : undefined
  if (refusal) {
    run.calls.discardRest(refusal.cause)
    for (const call of calls) {
      const message = run.append(textMessage(call, refusal.text, true))
      yield* run.tell({ type: 'tool-end', callId: call.id, message })
    }
    return refusal.isAnswer ? answer : undefined
  }
  const messages = yield* run.funnel.until(run.calls.commit(calls, attempt))
  run.signal.throwIfAborted()
  for (const message of messages) run.append(message)
  return calls.length === 0 ? answer : messages.find((message) => run.calls.isDirect(message))
}

interface Refusal {
  readonly text: string
  readonly cause: DiscardCause
  /** Whether the response is an answer all the same. */
  readonly isAnswer: boolean
}

/** Why none of these calls may run: how the response ended (A17, A18), or that nothing could read their results (A10). */
function refusalOf(run: RunState, { finishReason }: AssistantMessage, calls: readonly ToolCall[]): Refusal | undefined {
  if (!allowsCalls(finishReason)) {
    const isAnswer = finishReason !== 'length'
    return { text: forbiddenText(finishReason), cause: 'stream_truncated', isAnswer }
  }
  const { maxSteps, tools } = run.setup
  const mayEndRun = tools.some((tool) => tool.returnDirect && calls.some((call) => call.name === tool.name))
  if (run.step < maxSteps || mayEndRun) return undefined
  return { text: stepLimitText(maxSteps), cause: 'call_withdrawn', isAnswer: false }
}

function isEmpty(message: AssistantMessage): boolean {
  return message.finishReason === 'stop' && callsOf(message).length === 0 && textOf(message) === ''
}

/** The loop acts on the last message as `afterModel` left it (C9). */
function lastAnswer({ messages }: AgentState): AssistantMessage | undefined {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last : undefined
}

function answerProblem(state: AgentState): string | undefined {
  return stateProblem(state) ?? (lastAnswer(state) ? undefined : 'the state must end with an assistant message')
}

function resultOf(run: RunState, candidate: AnyAnswer, message: AnyAnswer, answer: AssistantMessage): AgentResult {
  return {
    status: 'completed',
    stopReason: candidate.role === 'tool' ? 'return-direct' : 'answer',
    message,
    text: textOf(message),
    finishReason: message.role === 'tool' ? answer.finishReason : message.finishReason,
    messages: run.messages,
    steps: run.step,
    usage: run.usage,
    warnings: run.warnings,
  }
}

type AnyAnswer = AssistantMessage | ToolMessage

function wrapAgent(run: RunState): WrapKind<AgentSetup, AgentEvent, AgentResult> {
  return {
    hook: 'wrapAgent',
    of: (middleware) => {
      const wrap = middleware.wrapAgent?.bind(middleware)
      const again = () => run.repeatedBy(middleware.name)
      return wrap && ((setup, next, view) => wrap(setup, counted(next, again), view))
    },
    isResult: (value) => typeof value === 'object' && value !== null && 'status' in value && 'message' in value,
    ownsThrows: true,
    cancel: () => run.cancelStep(),
  }
}

/** The same `next`; `again` is called when it is not called for the first time. */
function counted(next: (setup: AgentSetup) => AgentFlow, again: () => void): (setup: AgentSetup) => AgentFlow {
  let calls = 0
  return (setup) => {
    if (++calls > 1) again()
    return next(setup)
  }
}
