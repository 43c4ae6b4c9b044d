/** The ReAct loop: ask the model, make the calls it asks for, until an answer stands. */

import type { Context } from '@opentelemetry/api'
import { isOutputCall } from '../agent-config.ts'
import { type Accepted, askGate } from '../hooks/gate.ts'
import { answerProblem, stateProblem } from '../hooks/hook-problems.ts'
import { runStateHooks } from '../hooks/hooks.ts'
import { type AssistantMessage, callsOf, type ToolCall, type ToolMessage, textOf } from '../message.ts'
import { callModel } from '../model-call/model-call.ts'
import { requestOf } from '../model-call/request.ts'
import type { CompletedResult } from '../result.ts'
import type { AgentSetup } from '../tool.ts'
import { commitCalls } from '../tool-call/commit-calls.ts'
import { refusalOf, refuseAll } from '../tool-call/refusal.ts'
import { isDirect } from '../tool-call/return-direct.ts'
import { modelFailed, responseBegins, responseIsThere } from '../tool-call/streamed-calls.ts'
import { freezePlain } from './frozen.ts'
import type { RunState } from './run.ts'
import type { Answer, Step } from './step.ts'

/** Steps with this set-up, whose spans stand in this context. */
export async function loop(run: RunState, setup: AgentSetup, context: Context): Promise<CompletedResult> {
  run.steps.enter(setup, context)
  try {
    for (;;) {
      const step = run.steps.open()
      if (step.phase === 'over' && step.candidate) return await resultAgain(run, step, step.candidate)
      await run.events.tell({ type: 'step-start' })
      const candidate = step.phase === 'gate' ? step.candidate : await act(run, step, await think(run, step))
      const accepted = candidate && (await judge(run, step, candidate))
      await close(run, step, accepted)
      if (accepted) return resultOf(run, step, accepted)
    }
  } finally {
    run.steps.leave()
  }
}

/** One model call: from the state to the message that stands, as `afterModel` left it. */
async function think(run: RunState, step: Step): Promise<AssistantMessage> {
  if (step.phase === 'model') takeSaid(run, step)
  if (step.phase === 'before-model') {
    run.steps.takeNews()
    run.saver.soon()
    await runStateHooks(run, step, 'beforeModel', stateProblem)
    step.enter('model')
  }
  if (step.phase === 'model') await askModel(run, step)
  else responseIsThere(run, lastAnswer(run), step.attempt)
  if (step.phase === 'after-model') {
    try {
      await runStateHooks(run, step, 'afterModel', (state) => answerProblem(state, run.history.messages))
    } catch (error) {
      modelFailed(run, error)
      throw error
    }
    run.calls.wanted += toMake(run, callsOf(lastAnswer(run))).length
    step.enter('calls')
  }
  return lastAnswer(run)
}

/** The model is to be asked anew, and somebody has said something since: that is behind what it said then, and before this call. */
function takeSaid(run: RunState, step: Step): void {
  if (run.inbox.messages.length === 0) return
  if (step.cutOff) run.history.append(step.cutOff)
  step.cutOff = undefined
  run.steps.takeNews()
  run.saver.soon()
}

async function askModel(run: RunState, step: Step): Promise<void> {
  await run.events.taken()
  run.history.checkPairs()
  responseBegins(run)
  try {
    const { message, attempt } = await callModel(run, step, requestOf(run))
    run.history.append(message)
    step.stood(attempt)
    if (isEmpty(message)) run.events.warn(EMPTY_ANSWER)
    run.saver.soon()
  } catch (error) {
    modelFailed(run, error)
    throw error
  }
}

/** Makes the calls of a response. Gives the candidate for the final answer, if there is one. */
async function act(run: RunState, step: Step, answer: AssistantMessage): Promise<Answer | undefined> {
  const calls = callsOf(answer)
  const refusal = refusalOf(run, answer, calls)
  if (calls.length > 0 && !refusal) run.halt.stopAt('after-model')
  // A wrap that has left wants none made, and none in the history.
  await run.events.taken()
  const made = refusal ? [] : await make(run, step, calls)
  await run.events.taken()
  run.signal.throwIfAborted()
  // In one turn: whatever stops the run finds both in the history and told, or neither.
  const results = refusal ? refuseAll(run, calls, refusal) : told(run, made)
  for (const message of results) run.history.append(message)
  const isAnswer = refusal?.isAnswer ?? calls.length === 0
  const candidate = isAnswer ? answer : refusal ? undefined : results.find((message) => isFinal(run, message))
  const direct = candidate?.role === 'tool' && !isOutputCall(run.config.output, candidate)
  step.offer(candidate, direct, answer.finishReason)
  await run.events.taken()
  return step.candidate
}

/** The results in call order. A call that gives the output is not made: its input is its result (M14). */
async function make(run: RunState, step: Step, calls: readonly ToolCall[]): Promise<readonly ToolMessage[]> {
  const { output } = run.config
  const made = await commitCalls(run, toMake(run, calls), step.attempt)
  return output ? run.work.output.results(calls, made) : made
}

/** The reader is told of those that were not made: the others told of themselves. */
function told({ config, events }: RunState, messages: readonly ToolMessage[]): readonly ToolMessage[] {
  for (const message of messages) {
    if (isOutputCall(config.output, message)) events.push({ type: 'tool-end', callId: message.callId, message })
  }
  return messages
}

function toMake({ config }: RunState, calls: readonly ToolCall[]): ToolCall[] {
  return calls.filter((call) => !isOutputCall(config.output, call))
}

function isFinal(run: RunState, message: ToolMessage): boolean {
  return isOutputCall(run.config.output, message) || isDirect(run, message)
}

const EMPTY_ANSWER = {
  code: 'empty-answer',
  message: 'the model answered with neither text nor call',
  source: 'core',
}

function isEmpty(message: AssistantMessage): boolean {
  return message.finishReason === 'stop' && callsOf(message).length === 0 && textOf(message) === ''
}

/** The answer, if it stands: what the user or a background call has said in the meantime is to be answered first (K19, I17). */
async function judge(run: RunState, step: Step, candidate: Answer): Promise<Accepted | undefined> {
  await run.background.beforeEnd()
  const accepted = run.steps.hasNews ? undefined : await askGate(run, step, candidate)
  if (!accepted || run.steps.hasNews) return undefined
  // In the turn that decides: what comes later is not taken.
  run.inbox.isClosed = true
  return accepted
}

/** What the gate has accepted is not judged again, whatever happens on the way out (L11). */
async function close(run: RunState, step: Step, accepted: Accepted | undefined): Promise<void> {
  if (accepted) step.accept(accepted.message)
  else run.steps.current = undefined
  const { attempt } = step
  const messages = run.history.since(step.before)
  await run.events.tell({ type: 'step-end', ...(attempt !== undefined && { attempt }), messages })
  run.saver.soon()
}

/** The loop acts on the last message as `afterModel` left it (C9). */
function lastAnswer({ history }: RunState): AssistantMessage {
  return history.last as AssistantMessage
}

/** Of a run that was resumed when its answer had been accepted. */
async function resultAgain(run: RunState, step: Step, message: Answer): Promise<CompletedResult> {
  const { value } = await run.work.output.check(run, message)
  return resultOf(run, step, { message, output: value })
}

function resultOf(run: RunState, step: Step, { message, output }: Accepted): CompletedResult {
  return freezePlain({
    status: 'completed',
    stopReason: step.direct ? 'return-direct' : 'answer',
    message,
    text: textOf(message),
    ...(run.config.output && { output }),
    finishReason: step.reasonOf(message),
    messages: run.history.messages,
    steps: run.steps.begun,
    usage: run.usage,
    warnings: [...run.events.warnings],
  })
}
