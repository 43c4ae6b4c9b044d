/** The ReAct loop: it calls the model, makes the calls that the response requests, and repeats until an answer is accepted. */

import type { Context } from '@opentelemetry/api'
import { deliverResults, stopIfAsked, untilAnswerMayBeAccepted } from '../background/background.ts'
import { LazyController } from '../flow/follow.ts'
import { unheard } from '../flow/unheard.ts'
import { callsLimited } from '../machine/decide-calls.ts'
import {
  answerAccepted,
  answerOffered,
  hooksDone,
  loopBegun,
  loopEnded,
  mayBeAccepted,
  mayGoOn,
  modelSucceeded,
  stepBegun,
  stepEnded,
} from '../machine/steps.ts'
import { answerProblem, stateProblem } from '../middleware/hook-problems.ts'
import { callModel, requestOf } from '../model-call/model-call.ts'
import { checkOutput, outputMessage } from '../output/output.ts'
import type { RunState } from '../state/run.ts'
import type { Answer } from '../state/run-steps.ts'
import { commitCalls } from '../tool-call/commit-calls.ts'
import { refusalOf, refuseAll } from '../tool-call/refusal.ts'
import { modelFailed, responseBegins, responseRestored, unofferedIn } from '../tool-call/streamed-calls.ts'
import { isOutputCall } from '../vocabulary/agent-config.ts'
import { MaxStepsError, MiddlewareError, messageOf } from '../vocabulary/errors.ts'
import { freezePlain } from '../vocabulary/frozen.ts'
import { freeze } from '../vocabulary/history.ts'
import { type AssistantMessage, callsOf, type ToolCall, type ToolMessage, textOf } from '../vocabulary/message.ts'
import type { CompletedResult } from '../vocabulary/result.ts'
import type { AgentSetup } from '../vocabulary/tool.ts'
import { type Accepted, askGate, reasonOf } from './gate.ts'
import { runStateHooks } from './hooks.ts'

/** Runs steps with this set-up, with spans in this context. */
export async function loop(run: RunState, setup: AgentSetup, context: Context): Promise<CompletedResult> {
  const { steps } = run
  enter(run, setup, context)
  try {
    const checking = run.userContext.check(setup.tools)
    if (checking) await checking
    for (;;) {
      const resumed = steps.state.current && { resumed: true as const }
      nextStep(run)
      if (steps.step.phase === 'over' && steps.candidate) return await resultAgain(run, steps.candidate)
      await run.events.tell({ type: 'step-start', ...resumed })
      if (steps.step.phase !== 'gate') await act(run, await think(run))
      const verdict = steps.candidate && (await judge(run, steps.candidate))
      await close(run, verdict)
      if (verdict) return resultOf(run, verdict)
    }
  } finally {
    loopEnded(steps.state)
  }
}

/** Enters the loop. All loops of a run share one history, so earlier ones must have ended. */
function enter(run: RunState, setup: AgentSetup, context: Context): void {
  const { steps, calls, halt } = run
  if (steps.state.loop === 'running')
    throw new MiddlewareError(
      steps.repeater,
      'wrapAgent',
      'next was called before the steps of an earlier next had ended',
    )
  if (steps.state.loop === 'out') halt.stopAt('after-tools')
  loopBegun(steps.state, setup.maxSteps)
  steps.left = new LazyController()
  run.setup = setup
  run.context = context
  callsLimited(calls.state, setup.toolConcurrency, setup.innerConcurrency)
}

/** Begins the next step, unless the run is in the middle of one. Throws {@link MaxStepsError} if no step is left. */
function nextStep(run: RunState): void {
  const { steps, history } = run
  if (steps.state.current) return
  run.halt.stopAt('after-tools')
  stopIfAsked(run)
  if (!mayGoOn(steps.state)) {
    addNewMessages(run)
    const { feedback, misfit } = steps.rejection ?? {}
    throw new MaxStepsError(run.setup.maxSteps, feedback, misfit && { cause: misfit })
  }
  steps.rejection = undefined
  stepBegun(steps.state)
  steps.before = history.messages
  steps.modelCalled()
}

/** Makes one model call and returns the accepted message, with the changes of `afterModel`. */
async function think(run: RunState): Promise<AssistantMessage> {
  const { steps } = run
  if (steps.step.phase === 'model') addSentMessages(run)
  if (steps.step.phase === 'before-model') {
    addNewMessages(run)
    run.saver.soon()
    await runStateHooks(run, 'beforeModel', stateProblem)
    hooksDone(steps.state)
  }
  if (steps.step.phase === 'model') await askModel(run)
  else {
    steps.asked = Object.freeze(run.history.messages.slice(0, -1))
    responseRestored(run, lastAnswer(run), steps.step.attempt)
  }
  if (steps.step.phase === 'after-model') {
    try {
      await runStateHooks(run, 'afterModel', (state) => answerProblem(state, run.history.messages))
    } catch (error) {
      modelFailed(run, error)
      throw error
    }
    run.calls.wanted += toMake(run, callsOf(lastAnswer(run))).length
    hooksDone(steps.state)
  }
  return lastAnswer(run)
}

/** Adds messages from outside to the history. Called only between two steps, so no message comes between a call and its result. */
function addNewMessages(run: RunState): void {
  for (const message of [...deliverResults(run), ...run.inbox.take()]) run.history.append(message)
}

/** Adds messages that were sent since a cancel, before the model is called again. They come after the partial response. */
function addSentMessages(run: RunState): void {
  const { steps, history } = run
  if (steps.state.waiting === 0) return
  if (steps.partial) history.append(steps.partial)
  steps.partial = undefined
  addNewMessages(run)
  run.saver.soon()
}

async function askModel(run: RunState): Promise<void> {
  await run.events.taken()
  run.history.checkPairs()
  responseBegins(run)
  try {
    const request = requestOf(run)
    run.steps.asked = request.messages
    const { message, attempt } = await callModel(run, request)
    run.history.append(message)
    run.steps.modelCalled()
    modelSucceeded(run.steps.state, attempt, unofferedIn(run, message))
    if (isEmpty(message)) run.events.warn(EMPTY_ANSWER)
    run.saver.soon()
  } catch (error) {
    modelFailed(run, error)
    throw error
  }
}

/** Makes the calls of a response, and offers the final answer, if there is one. */
async function act(run: RunState, answer: AssistantMessage): Promise<void> {
  const calls = callsOf(answer)
  const refusal = refusalOf(run, answer, calls)
  if (calls.length > 0 && !refusal) run.halt.stopAt('after-model')
  // If a wrap has ended, this throws: no calls may be made or added to the history.
  await run.events.taken()
  const made = refusal ? [] : await make(run, calls)
  await run.events.taken()
  run.signal.throwIfAborted()
  // In one turn, so that a stop of the run never finds results that are only in the history, or only shown.
  const results = refusal ? refuseAll(run, answer, refusal) : told(run, made)
  for (const message of results) run.history.append(message)
  const isAnswer = refusal?.isAnswer ?? calls.length === 0
  const candidate = isAnswer ? answer : refusal ? undefined : results.find((message) => isFinal(run, message))
  const direct = candidate?.role === 'tool' && !isOutputCall(run.config.output, candidate)
  run.steps.offer = candidate
  answerOffered(run.steps.state, { isOffered: candidate !== undefined, direct, finishReason: answer.finishReason })
  await run.events.taken()
}

/** Returns the results in call order. A call that returns the output is not executed: its input is its result. */
async function make(run: RunState, calls: readonly ToolCall[]): Promise<readonly ToolMessage[]> {
  const due = toMake(run, calls)
  const made = await commitCalls(run, due, run.steps.step.attempt)
  const results = new Map(due.map((call, index) => [call, made[index]]))
  return calls.map((call) => results.get(call) ?? freeze(outputMessage(call)))
}

/** Emits the ends of calls that were not made. The other calls have emitted their own. */
function told({ config, events }: RunState, messages: readonly ToolMessage[]): readonly ToolMessage[] {
  for (const message of messages) {
    if (isOutputCall(config.output, message)) events.callEnded(message)
  }
  return messages
}

function toMake({ config }: RunState, calls: readonly ToolCall[]): ToolCall[] {
  return calls.filter((call) => !isOutputCall(config.output, call))
}

function isFinal(run: RunState, message: ToolMessage): boolean {
  return isOutputCall(run.config.output, message) || isDirect(run, message)
}

/** Whether the result of a call is the answer of the run: the tool is defined with `returnDirect`, and the call did not fail. */
function isDirect(run: RunState, { callId, isError, output }: ToolMessage): boolean {
  const entry = run.calls.get(callId)
  const direct = entry?.tool?.returnDirect
  if (isError || direct === undefined) return false
  if (typeof direct === 'boolean') return direct
  try {
    const done = entry?.done
    const word: unknown = unheard(direct(done && 'output' in done ? done.output : output))
    if (word instanceof Promise) throw new TypeError('its returnDirect returned a promise, not true or false')
    return Boolean(word)
  } catch (error) {
    const message = `${entry?.call.name}: ${messageOf(error)}`
    run.events.warn({ code: 'return-direct-failed', message, source: 'core' })
    return false
  }
}

const EMPTY_ANSWER = {
  code: 'empty-answer',
  message: 'the model returned neither text nor a tool call',
  source: 'core',
}

function isEmpty(message: AssistantMessage): boolean {
  return message.finishReason === 'stop' && callsOf(message).length === 0 && textOf(message) === ''
}

/** Returns the answer if it is accepted. If messages or background results have arrived since, the model has to answer these first. */
async function judge(run: RunState, candidate: Answer): Promise<Accepted | undefined> {
  const { steps, calls } = run
  await untilAnswerMayBeAccepted(run)
  const verdict = mayBeAccepted(steps.state, calls.state) ? await askGate(run, candidate) : undefined
  if (!verdict || !mayBeAccepted(steps.state, calls.state)) return undefined
  // In the turn of the decision, because later messages are not accepted.
  answerAccepted(steps.state)
  return verdict
}

async function close(run: RunState, verdict: Accepted | undefined): Promise<void> {
  const { steps, history } = run
  const { attempt } = steps.step
  if (!verdict) stepEnded(steps.state)
  const messages = history.since(steps.before)
  await run.events.tell({ type: 'step-end', ...(attempt !== undefined && { attempt }), messages })
  // The end of the run is saved by itself.
  if (verdict) run.saver.soon()
  else void run.saver.now()
}

/** Returns the last message, with the changes of `afterModel`. */
function lastAnswer({ history }: RunState): AssistantMessage {
  return history.last as AssistantMessage
}

/** Returns the result of a run that was resumed after its answer had been accepted. */
async function resultAgain(run: RunState, message: Answer): Promise<CompletedResult> {
  const { value } = await checkOutput(run.config.output, run.setup.model, message)
  return resultOf(run, { message, output: value })
}

function resultOf(run: RunState, { message, output }: Accepted): CompletedResult {
  return freezePlain({
    status: 'completed',
    stopReason: run.steps.step.direct ? 'return-direct' : 'answer',
    message,
    text: textOf(message),
    ...(run.config.output && { output }),
    finishReason: reasonOf(run, message),
    messages: run.history.messages,
    steps: run.steps.begun,
    usage: run.usage,
    warnings: [...run.events.warnings],
  })
}
