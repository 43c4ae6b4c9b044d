/** The ReAct loop: ask the model, make the calls it asks for, until an answer stands. */

import type { Context } from '@opentelemetry/api'
import { findTool } from './aliases.ts'
import { refuse } from './call-results.ts'
import { compose, type WrapKind } from './compose.ts'
import { checkSetup } from './config.ts'
import type { AgentEvent, AgentResult, DiscardCause } from './events.ts'
import { drive } from './flow.ts'
import { type Accepted, askGate } from './gate.ts'
import { stateProblem } from './hook-problems.ts'
import { runSetupHooks, runStateHooks } from './hooks.ts'
import { type AssistantMessage, allowsCalls, callsOf, type ToolCall, type ToolMessage, textOf } from './message.ts'
import type { AgentFlow, AgentSetup, AgentState } from './middleware.ts'
import { callModel } from './model-call.ts'
import { checkOutput, isOutputCall, withOutputs } from './output.ts'
import { pull } from './pull.ts'
import { requestOf } from './request.ts'
import { claim } from './restore.ts'
import { isDirect } from './return-direct.ts'
import type { RunState } from './run.ts'
import { withStatusTool } from './status-tool.ts'
import type { Answer, Step } from './step.ts'
import { record } from './telemetry/content.ts'
import { contentsOfRequest } from './telemetry/message-json.ts'
import { forbiddenText, stepLimitText } from './tool-message.ts'

/** A whole run: set up, then step by step inside all `wrapAgent`s. */
export async function runAgent(run: RunState): Promise<AgentResult> {
  run.setup = checked(run, await runSetupHooks(run))
  if (run.resumed) await claim(run, run.resumed)
  else recordTask(run)
  // Where nobody stands between the steps and the reader their events need no flow.
  if (!run.middleware.some((middleware) => middleware.wrapAgent)) return await steps(run, run.setup, run.context)
  const onion = compose(run, wrapAgent(run), (setup, context) => {
    const asWrapped = checked(run, setup)
    return pull(run.events.funnel, () => steps(run, asWrapped, context))
  })
  return await drive(onion(run.setup, run.context), (event) => {
    run.events.throwIfOver()
    run.events.show(event)
  })
}

/** What the run is to do, on its span: that of a resumed one links to the span that has it. */
function recordTask({ span, capture, setup, history }: RunState): void {
  const { instructions } = setup
  if (span) record(span, capture, () => contentsOfRequest({ instructions, messages: history.messages }))
}

/** As the steps work with it. What was checked when the agent was made, or when the run began, is not checked again. */
function checked(run: RunState, setup: AgentSetup): AgentSetup {
  const tools = withStatusTool(setup.tools)
  const isKnown = tools === setup.tools && (setup === run.config.setup || setup === run.setup)
  return isKnown ? setup : Object.freeze(checkSetup({ ...setup, tools }, run.config.output))
}

async function steps(run: RunState, setup: AgentSetup, context: Context): Promise<AgentResult> {
  run.steps.enter(setup, context)
  try {
    for (;;) {
      const step = run.steps.open()
      if (step.phase === 'over' && step.candidate) {
        const { value } = await checkOutput(run.config.output, step.candidate)
        return resultOf(run, step, { message: step.candidate, output: value })
      }
      await run.events.tell({ type: 'step-start' })
      const candidate = step.phase === 'gate' ? step.candidate : await act(run, step, await think(run, step))
      if (candidate) await run.background.beforeEnd()
      // What the user or a background call has said in the meantime is to be answered first (K19, I17).
      const answer = candidate && !run.steps.hasNews ? await askGate(run, step, candidate) : undefined
      const accepted = run.steps.hasNews ? undefined : answer
      // What the gate has judged is not judged again, whatever happens on the way out (L11).
      if (accepted) {
        run.inbox.isClosed = true
        step.accept(accepted.message)
      } else run.steps.current = undefined
      const messages = run.history.since(step.before)
      await run.events.tell({
        type: 'step-end',
        ...(step.attempt !== undefined && { attempt: step.attempt }),
        messages,
      })
      run.saver.soon()
      if (accepted) return resultOf(run, step, accepted)
    }
  } finally {
    run.steps.leave()
  }
}

/** One model call: from the state to the message that stands, as `afterModel` left it. */
async function think(run: RunState, step: Step): Promise<AssistantMessage> {
  if (step.phase === 'before-model') {
    run.steps.takeNews()
    run.saver.soon()
    await runStateHooks(run, step, 'beforeModel', stateProblem)
    step.enter('model')
  }
  if (step.phase === 'model') await askModel(run, step)
  else run.calls.reopen(lastAnswer(run), step.attempt)
  if (step.phase === 'after-model') {
    try {
      await runStateHooks(run, step, 'afterModel', answerProblem)
    } catch (error) {
      run.calls.failed(error)
      throw error
    }
    run.calls.wanted += toMake(run, callsOf(lastAnswer(run))).length
    step.enter('calls')
  }
  return lastAnswer(run)
}

async function askModel(run: RunState, step: Step): Promise<void> {
  await run.events.taken()
  run.history.checkPairs()
  run.calls.open()
  try {
    const { message, attempt } = await callModel(run, step, requestOf(run))
    run.history.append(message)
    step.stood(attempt)
    if (isEmpty(message))
      run.events.warn({
        code: 'empty-answer',
        message: 'the model answered with neither text nor call',
        source: 'core',
      })
    run.saver.soon()
  } catch (error) {
    run.calls.failed(error)
    throw error
  }
}

/** Makes the calls of a response. Gives the candidate for the final answer, if there is one. */
async function act(run: RunState, step: Step, answer: AssistantMessage): Promise<Answer | undefined> {
  const calls = callsOf(answer)
  const refusal = calls.length > 0 ? refusalOf(run, answer, calls) : undefined
  if (calls.length > 0 && !refusal) run.cancel.stopAt('after-model')
  // A wrap that has left wants none made, and none in the history.
  await run.events.taken()
  const results = refusal ? refuseAll(run, calls, refusal) : await make(run, step, calls)
  await run.events.taken()
  run.signal.throwIfAborted()
  for (const message of results) run.history.append(message)
  const isAnswer = refusal?.isAnswer ?? calls.length === 0
  const candidate = isAnswer ? answer : refusal ? undefined : results.find((message) => isFinal(run, message))
  const direct = candidate?.role === 'tool' && !isOutputCall(run.config.output, candidate)
  step.offer(candidate, direct, answer.finishReason)
  return step.candidate
}

/** The results in call order. A call that gives the output is not made: its input is its result (M14). */
async function make(run: RunState, step: Step, calls: readonly ToolCall[]): Promise<readonly ToolMessage[]> {
  const { output } = run.config
  const messages = withOutputs(calls, await run.calls.commit(toMake(run, calls), step.attempt))
  for (const message of messages) {
    if (isOutputCall(output, message)) run.events.push({ type: 'tool-end', callId: message.callId, message })
  }
  return messages
}

function toMake({ config }: RunState, calls: readonly ToolCall[]): ToolCall[] {
  return calls.filter((call) => !isOutputCall(config.output, call))
}

function isFinal(run: RunState, message: ToolMessage): boolean {
  return isOutputCall(run.config.output, message) || isDirect(run, message)
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
  const { output } = run.config
  const mayEndRun = calls.some((call) => isOutputCall(output, call) || findTool(tools, call.name)?.returnDirect)
  if (run.steps.begun < maxSteps || mayEndRun) return undefined
  return { text: stepLimitText(maxSteps), cause: 'call_withdrawn', isAnswer: false }
}

function refuseAll(run: RunState, calls: readonly ToolCall[], { cause, text }: Refusal): ToolMessage[] {
  run.calls.discardRest(cause)
  return calls.map((call) => refuse(run, call, text))
}

function isEmpty(message: AssistantMessage): boolean {
  return message.finishReason === 'stop' && callsOf(message).length === 0 && textOf(message) === ''
}

/** The loop acts on the last message as `afterModel` left it (C9). */
function lastAnswer({ history }: RunState): AssistantMessage {
  return history.last as AssistantMessage
}

function answerProblem(state: AgentState): string | undefined {
  const isAnswer = state.messages?.at?.(-1)?.role === 'assistant'
  return stateProblem(state) ?? (isAnswer ? undefined : 'the state must end with an assistant message')
}

function resultOf(run: RunState, step: Step, { message, output }: Accepted): AgentResult {
  return {
    status: 'completed',
    stopReason: step.direct ? 'return-direct' : 'answer',
    message,
    text: textOf(message),
    ...(run.config.output && { output }),
    finishReason: message.role === 'tool' ? (step.finishReason ?? 'other') : message.finishReason,
    messages: run.history.messages,
    steps: run.steps.begun,
    usage: run.usage,
    warnings: run.events.warnings,
  }
}

function wrapAgent(run: RunState): WrapKind<AgentSetup, AgentEvent, AgentResult> {
  return {
    hook: 'wrapAgent',
    of: (middleware) => {
      const wrap = middleware.wrapAgent?.bind(middleware)
      const again = () => run.steps.repeatedBy(middleware.name)
      return wrap && ((setup, next, view) => wrap(setup, counted(next, again), view))
    },
    isResult: (value) => typeof value === 'object' && value !== null && 'status' in value && 'message' in value,
    ownsThrows: true,
    cancel: () => run.steps.abandon(),
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
