/** The middleware `approve()`: asks for approval before a tool call runs. */

import {
  AgentError,
  type Awaitable,
  ConfigError,
  checkOptions,
  interrupt,
  type Json,
  type Middleware,
  messageOf,
  type PendingInterrupt,
  type Run,
  runLocal,
  type SemanticAttributes,
  type ToolCall,
} from '@meanwhile/core'
import { asJson, branded, checkedInput, errorMessage, sameCall } from '@meanwhile/core/calls'
import { type Approval, answerSchema, checkDecisions, DECISIONS, isApproval } from './approval.ts'
import { ApprovalError } from './approval-error.ts'
import { checkFunctions } from './check-options.ts'
import { DECIDED, decisionAttributes, decisionRecord } from './decision-record.ts'
import { isRecord } from './is-record.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'
import { schemaOf } from './schema-of.ts'

const NAME = 'approve'

/** The options of `approve`. */
export interface ApproveOptions extends MayBeMissing {
  /**
   * Names of the tools that need approval (an alias means its tool), or a function that decides for each call: only
   * `false` lets a call run without approval.
   */
  readonly tools: readonly string[] | ((call: ToolCall, run: Run) => Awaitable<boolean>)
  /** Asks immediately, while the run waits. Default: the run is interrupted, and a resume passes the answer. */
  readonly ask?: (question: ApprovalQuestion, options: { readonly signal: AbortSignal }) => Awaitable<Approval>
  /**
   * `run`: if a call was allowed, a call in this run with the same tool and input needs no approval. Default `never`.
   */
  readonly remember?: 'never' | 'run'
  /** The decisions that an answer may have; any other answer is invalid. Default: all three. */
  readonly decisions?: readonly Approval['decision'][]
}

/** The payload of the interrupt. */
export type ApprovalQuestion = {
  readonly tool: string
  readonly input: Json
  /** The id of the call in the history. */
  readonly callId: string
  /** The decisions that an answer may have. */
  readonly decisions: readonly Approval['decision'][]
}

/** A question of {@link approve} in `result.interrupts`. */
export type PendingApproval = PendingInterrupt<ApprovalQuestion>

/**
 * Calls of these tools run only after they were allowed. Without `ask`, the run is interrupted with an {@link
 * ApprovalQuestion} for each waiting call of a step, all at once. `agent.resume` passes an {@link Approval} for each.
 *
 * There is one question per call, also if the model call has several attempts, and only after the response with the
 * call is accepted. No failure lets a call through:
 * - A resume with an invalid answer rejects with `AnswerError` before anything runs, and the question stays open.
 * - If `ask` returns an invalid answer, or `tools` or `ask` throws, the call is not run, and the model reads an error
 *   result. The original error is only in a warning, `approval-failed`.
 *
 * Each decision is an event `custom` with the name `approval`, whose data is a {@link DecisionRecord}.
 *
 * No question is asked for an unknown tool, for one that the request did not offer, or for input that the schema rejects.
 *
 * @throws {ConfigError} An option is invalid.
 */
export function approve(options: ApproveOptions): Middleware {
  checkOptions('approve', options, { tools: '', ask: '', remember: '', decisions: '', mayBeMissing: '' })
  if (typeof options?.tools !== 'function' && !Array.isArray(options?.tools))
    throw new ConfigError('tools', 'must be a list of tool names, or a function')
  const { tools, ask, remember = 'never', decisions = DECISIONS } = options
  checkDecisions(decisions)
  const named = namedTools('approve', 'tools', typeof tools === 'function' ? [] : tools, options)
  checkFunctions({ ask })
  if (remember !== 'never' && remember !== 'run')
    throw new ConfigError('remember', `must be never or run, not ${String(remember)}`)
  const allowed = runLocal({ key: 'approve/allowed', schema: schemaOf(isAllowed), initial: [] })
  const asked = runLocal({ key: 'approve/asked', schema: schemaOf(isAsked), initial: { step: 0, answers: {} } })

  async function concerns(call: ToolCall, run: Run): Promise<boolean> {
    // A question was asked before the resume, so its answer applies, even if `tools` decides differently now.
    if (run.answers.length > 0) return true
    const tool = run.setup.tools.find(({ name }) => name === call.name)
    if (!tool || !run.isOffered(call)) return false
    const isMeant = typeof tools === 'function' ? await asking(call, run, () => tools(call, run)) : named.has(tool)
    if (isMeant === false) return false
    await checkedInput(tool, call)
    return !allowed(run).value.some((before) => sameCall({ ...call, ...before }, call))
  }

  async function answerTo(call: ToolCall, run: Run): Promise<unknown> {
    const [answer = earlierAnswer(call, run)] = run.answers
    if (answer !== undefined) return answer
    const callId = await run.stood(call.id)
    const question = { tool: call.name, input: asJson(call.input, 'input'), callId, decisions }
    if (!ask) throw interrupt(question)
    return asking(call, run, () => ask(question, { signal: run.signal }))
  }

  /** The answer that `ask` returned before the run stopped for another reason. */
  function earlierAnswer({ id }: ToolCall, run: Run): Json | undefined {
    const { step, answers } = asked(run).value
    return step === run.step && Object.hasOwn(answers, id) ? answers[id] : undefined
  }

  function keep(answer: Approval, { id, name, input }: ToolCall, run: Run): void {
    const { step, answers } = asked(run).value
    if (ask) asked(run).value = { step: run.step, answers: { ...(step === run.step && answers), [id]: answer } }
    if (remember === 'run' && answer.decision === 'allow')
      allowed(run).value = [...allowed(run).value, { name, input: input as Json }]
  }

  return branded('middleware', {
    name: NAME,
    order: { outside: ['retry-tool'] },
    answer: answerSchema(decisions),
    ignoresInput: (tool) => typeof tools !== 'function' && !named.has(tool),
    ...named.hook,
    async *wrapToolCall(call, next, run) {
      // A resume makes the open calls before it calls the model.
      named.check(run)
      if (!(await concerns(call, run))) return yield* next(call)
      run.annotate({ 'meanwhile.dispatch.deferral_reason': 'approval' } satisfies SemanticAttributes, call.id)
      const answer = await answerTo(call, run)
      // The answers of a resume were checked already; `ask` may return anything.
      if (!isApproval(answer, decisions))
        throw new Error(`Not run: the answer to the request for approval of ${call.name} is invalid.`)
      const record = decisionRecord(answer, call.input as Json)
      yield { type: 'custom', name: DECIDED, data: record, source: NAME }
      if (answer.decision === 'deny')
        return errorMessage(call, `Not run: the call was denied: ${answer.reason ?? 'no reason was given'}`)
      run.annotate(decisionAttributes(record, run.setup.captureContent), call.id)
      keep(answer, call, run)
      return yield* next(answer.decision === 'edit' ? { ...call, input: answer.input } : call)
    },
  })
}

/** Whether the question comes from {@link approve}, including one from an agent inside a tool call. */
export function isPendingApproval(pending: PendingInterrupt): pending is PendingApproval {
  const { address, payload } = pending
  const asker = address.at(-1)
  return asker !== undefined && 'middleware' in asker && asker.middleware === NAME && isQuestion(payload)
}

function isQuestion(payload: unknown): payload is ApprovalQuestion {
  if (!isRecord(payload)) return false
  return typeof payload.tool === 'string' && typeof payload.callId === 'string' && 'input' in payload
}

/**
 * Calls the user's function. If it throws, the reason goes to a warning, and the model only reads that the call was not
 * run.
 */
async function asking<Answer>(call: ToolCall, run: Run, question: () => Awaitable<Answer>): Promise<Answer> {
  try {
    return await question()
  } catch (error) {
    if (error instanceof AgentError || run.signal.aborted) throw error
    await run.stood(call.id)
    const message = `the request for approval of ${call.name} failed: ${messageOf(error)}`
    run.warn({ code: 'approval-failed', message })
    throw new ApprovalError(call.name, error)
  }
}

type Allowed = readonly { readonly name: string; readonly input: Json }[]

function isAllowed(value: unknown): value is Allowed {
  return Array.isArray(value) && value.every((one) => isRecord(one) && typeof one.name === 'string' && 'input' in one)
}

interface Asked {
  readonly step: number
  /** By call id. */
  readonly answers: Readonly<Record<string, Json>>
}

function isAsked(value: unknown): value is Asked {
  return isRecord(value) && typeof value.step === 'number' && isRecord(value.answers)
}
