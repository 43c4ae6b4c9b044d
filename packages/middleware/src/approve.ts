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
  type Tool,
  type ToolCall,
} from '@meanwhile/core'
import {
  asJson,
  branded,
  errorMessage,
  findTool,
  hash,
  isRecord,
  requestedInput,
  sameInput,
} from '@meanwhile/core/calls'
import { agentsWith } from './agents-inside.ts'
import { type Approval, answerSchema, checkDecisions, DECISIONS, isApproval } from './approval.ts'
import { ApprovalError } from './approval-error.ts'
import { type AskedInput, answerAbout, askedInputs } from './approve/asked-inputs.ts'
import { ChangedEditError, editedCall } from './approve/edited-call.ts'
import { checkFunctions } from './check-options.ts'
import { type CheckedCall, checkedCall, storedCall } from './checked-call.ts'
import { DECIDED, type DecisionRecord, decisionAttributes, decisionRecord } from './decision-record.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'
import { schemaOf } from './schema-of.ts'

const NAME = 'approve'

/** Marks what {@link approve} returns. A copy of it with another name has the mark, too, and a middleware of somebody else with this name does not. */
const BRAND: unique symbol = Symbol.for('@meanwhile/middleware/approve')

/** The options of `approve`. */
export interface ApproveOptions extends MayBeMissing {
  /**
   * Names of the tools that need approval (an alias means its tool), or a function that decides for each call: only
   * `false` lets a call run without approval. The input of the call is what its tool gets, as the schema returns it.
   */
  readonly tools: readonly string[] | ((call: ToolCall, run: Run) => Awaitable<boolean>)
  /** Asks immediately, while the run waits. Default: the run is interrupted, and a resume passes the answer. */
  readonly ask?: (question: ApprovalQuestion, options: { readonly signal: AbortSignal }) => Awaitable<Approval>
  /**
   * `run`: if a call was allowed, a call in this run with the same tool and checked input needs no approval, as long as
   * the description and the schema of the tool are the same. Default `never`.
   */
  readonly remember?: 'never' | 'run'
  /** The decisions that an answer may have; any other answer is invalid. Default: all three. */
  readonly decisions?: readonly Approval['decision'][]
}

/** The payload of the interrupt. */
export type ApprovalQuestion = {
  readonly tool: string
  /** The input as the tool's schema returns it, written as JSON. After `allow` the tool gets exactly this input. */
  readonly input: Json
  /** What the model wrote, or the tool that makes the call. Only if it differs from the input. */
  readonly written?: Json
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
 * The schema of the tool checks the input once: the predicate, the question and the tool get what it returns. After a
 * pause a checked input that is JSON is used as it was stored. Another one, such as one with a `Date`, is checked again,
 * and if its JSON is different then, there is a new question.
 *
 * There is one question per call, also if the model call has several attempts, and only after the response with the
 * call is accepted. No failure lets a call through:
 * - A resume with an invalid answer rejects with `AnswerError` before anything runs, and the question stays open.
 * - If the schema changes an edited input, or the input contains what JSON cannot show, such as a `Map`, the call is not
 *   run, and the model reads why.
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
  const allowed = runLocal({ key: 'approve/remembered', schema: schemaOf(isAllowed), initial: [] })
  const asked = askedInputs()

  /** Whether no call of this tool needs approval. */
  const isOther = (tool: Tool) => typeof tools !== 'function' && !named.has(tool)

  /** Whether a call of one of the tools needs approval. */
  async function needsApproval({ call, value }: CheckedCall, run: Run): Promise<boolean> {
    return (
      typeof tools !== 'function' || (await asking(call, run, () => tools({ ...call, input: value }, run))) !== false
    )
  }

  function isRemembered({ call, shown }: CheckedCall, tool: Tool, run: Run): boolean {
    const same = allowed(run).value.filter(({ name }) => name === call.name)
    const definition = same.length > 0 ? definitionOf(tool) : ''
    const before = same.filter((one) => one.definition === definition)
    if (before.length === 0) return false
    const input = shown()
    return before.some((one) => sameInput(one.input, input))
  }

  /** Returns the answer of `ask`. Without `ask`, interrupts the run with the question. */
  async function answerOf({ call, isJson, shown }: CheckedCall, run: Run): Promise<unknown> {
    const callId = await run.stood(call.id)
    const input = shown()
    const written = requestedInput(run)
    const question = {
      tool: call.name,
      input,
      ...(!sameInput(written, input) && { written: asShown(written) }),
      callId,
      decisions,
    }
    asked.put({ given: asJson(call.input, 'input'), input, isJson }, call, run)
    if (!ask) throw interrupt(question)
    return asking(call, run, () => ask(question, { signal: run.signal }))
  }

  function keep(answer: Approval, { call, isJson, shown }: CheckedCall, tool: Tool, run: Run): void {
    asked.put({ given: asJson(call.input, 'input'), input: shown(), isJson, answer }, call, run)
    if (remember === 'run' && answer.decision === 'allow')
      allowed(run).value = [...allowed(run).value, { name: call.name, input: shown(), definition: definitionOf(tool) }]
  }

  return branded('middleware', {
    name: NAME,
    [BRAND]: true,
    order: { outside: ['retry-tool'] },
    answer: answerSchema(decisions),
    ignoresInput: isOther,
    beforeModel(_, run) {
      named.check(run)
      if (typeof tools !== 'function') warnOfAgentsInside(tools, run)
    },
    async *wrapToolCall(call, next, run) {
      // A resume makes the open calls before it calls the model.
      named.check(run)
      const tool = run.setup.tools.find(({ name }) => name === call.name)
      if (!tool || !run.isOffered(call)) return yield* next(call)
      const before = asked.find(call, run)
      const wasAsked = before !== undefined || run.answers.length > 0
      // Checks only calls that it may ask about.
      if (!wasAsked && isOther(tool)) return yield* next(call)
      const checked = before?.isJson ? storedCall(call, before.input) : await checkedCall(tool, call)
      const known = wasAsked ? answerTo(checked, before, run) : undefined
      if (known === undefined) {
        // If there was a question and the input is another one now, there is a new question, because the answer may have been no.
        const isMeant = wasAsked || (await needsApproval(checked, run))
        if (!isMeant || isRemembered(checked, tool, run)) return yield* next(checked.call)
      }
      run.annotate({ 'meanwhile.dispatch.deferral_reason': 'approval' } satisfies SemanticAttributes, call.id)
      const answer = known ?? (await answerOf(checked, run))
      // The answers of a resume were checked already; `ask` may return anything.
      if (!isApproval(answer, decisions))
        throw new Error(`Not run: the answer to the request for approval of ${call.name} is invalid.`)
      keep(answer, checked, tool, run)
      if (answer.decision === 'deny') {
        yield told(decisionRecord(answer, undefined, answer.reason))
        return errorMessage(call, `Not run: the call was denied: ${answer.reason ?? 'no reason was given'}`)
      }
      let decided = checked
      if (answer.decision === 'edit')
        try {
          decided = await editedCall(tool, call, answer.input)
        } catch (error) {
          if (error instanceof AgentError || run.signal.aborted) throw error
          yield told(decisionRecord(answer, undefined, messageOf(error)))
          // An error of the schema is thrown, as it is for an input that nobody has edited.
          if (error instanceof ChangedEditError) return errorMessage(call, error)
          throw error
        }
      const record = decisionRecord(answer, decided.shown())
      yield told(record)
      run.annotate(decisionAttributes(record, run.setup.captureContent), call.id)
      return yield* next(decided.call)
    },
  })
}

/** An agent inside asks nobody for its own tool with a listed name, unless it has `approve` as well. */
function warnOfAgentsInside(listed: readonly string[], run: Run): void {
  if (run.step > 1) return
  const { tools } = run.setup
  for (const name of new Set(listed.flatMap((name) => [name, findTool(tools, name)?.name ?? name]))) {
    const asks = (middleware: readonly Middleware[]) => middleware.some((one) => BRAND in one)
    const inside = agentsWith(name, tools).find(({ middleware }) => !asks(middleware))
    if (!inside) continue
    const why = `the agent ${inside.name}, which runs inside a call, has its own tool ${name} and runs it without a question`
    const hint = 'agent.with({ middleware: [approve(…), ...agent.middleware] }) makes it ask'
    run.warn({ code: 'approve-inside', message: `${why}; ${hint}` })
  }
}

/** The answer to the question about exactly this input. */
function answerTo(checked: CheckedCall, before: AskedInput | undefined, run: Run): unknown {
  const input = checked.shown()
  if (before?.answer !== undefined && sameInput(before.input, input)) return before.answer
  return answerAbout(input, run)
}

function told(data: DecisionRecord) {
  return { type: 'custom', name: DECIDED, data, source: NAME } as const
}

/** The input that was requested, as JSON shows it. It is only shown. */
function asShown(input: unknown): Json {
  return JSON.parse(JSON.stringify(input) ?? 'null')
}

/** Whether the question comes from {@link approve}, including one from an agent inside a tool call. */
export function isPendingApproval(pending: PendingInterrupt): pending is PendingApproval {
  const { address, payload } = pending
  const asker = address.at(-1)
  if (!asker || !('middleware' in asker) || !isRecord(payload)) return false
  // A copy of the middleware may have another name.
  const isOurs = asker.middleware === NAME || Array.isArray(payload.decisions)
  return isOurs && typeof payload.tool === 'string' && typeof payload.callId === 'string' && 'input' in payload
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

type Allowed = readonly { readonly name: string; readonly input: Json; readonly definition: string }[]

function isAllowed(value: unknown): value is Allowed {
  const isOne = (one: unknown) => isRecord(one) && ['name', 'definition'].every((name) => typeof one[name] === 'string')
  return Array.isArray(value) && value.every((one) => isOne(one) && 'input' in one)
}

/** Identifies what the tool was when its call was allowed. A tool of an MCP server may be another one after a resume. */
function definitionOf({ description, input }: Tool): string {
  return hash(JSON.stringify([description, input['~standard'].jsonSchema.input({ target: 'draft-2020-12' })]))
}
