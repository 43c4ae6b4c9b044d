/** What a tool receives with its input: the context of its function, and in it the answers to its questions. */

import { addressOf } from '../state/address.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Execution } from '../state/call-outcomes.ts'
import type { Given } from '../state/rest.ts'
import type { RunState } from '../state/run.ts'
import type { UserContext } from '../state/user-context.ts'
import type { Telemetry } from '../telemetry/around.ts'
import { branded } from '../vocabulary/brand.ts'
import { described } from '../vocabulary/checked-input.ts'
import { inWords } from '../vocabulary/errors.ts'
import { interrupt } from '../vocabulary/interrupt.ts'
import { asJson } from '../vocabulary/json.ts'
import type { Json, Message, ToolCall } from '../vocabulary/message.ts'
import type { NeedsContext, Tool, ToolContext } from '../vocabulary/tool.ts'

/** What `runTool` has in place of a run. */
export interface NoRun {
  readonly telemetry: Telemetry
  readonly userContext: UserContext
  readonly config: { readonly grace: number }
  /** The time limit of the execution instead of the tool's own, in milliseconds. */
  readonly timeout: number | undefined
}

const NO_ANSWERS: readonly Json[] = Object.freeze([])

/** What an execution is part of. */
export interface Surroundings {
  readonly by: RunState | NoRun
  /** Absent if `runTool` executes the tool. */
  readonly run: RunState | undefined
  /** The history that the model received. */
  readonly messages: readonly Message[]
  readonly entry: CallEntry
  /** The signal of this execution. While it is running it also aborts with its call. */
  readonly signal: AbortSignal
}

/** Returns the second argument of the tool's function. */
export function toolContext(
  { by, run, messages, entry, signal }: Surroundings,
  execution: Execution,
  tool: Tool,
  { rest }: Given,
): ToolContext & Partial<NeedsContext<unknown>> {
  // What the tool starts with this signal, outside its run, is part of this call if others wait for its slot.
  if (entry.seat || entry.maker || entry.caller) branded('call', signal, entry)
  const actor = { context: execution.open.context, source: tool.name, call: entry, execution }
  const context = {
    callId: entry.call.id,
    idempotencyKey: entry.key,
    attempt: execution.attempt,
    // Few runs have questions, and most addresses need not be computed.
    answers: run && !run.questions.isEmpty ? run.questions.askedAt(addressOf(run, entry)).answers : NO_ANSWERS,
    messages,
    signal,
    ...(tool.context && { context: by.userContext.checked.get(tool.context)?.value }),
    ...(run && { run: run.work.view(run, actor) }),
    ...(entry.warmUp && { warmed: entry.warmUp.use() }),
  }
  if (!rest) return context
  execution.wait = rest
  entry.status.waits(rest)
  // Defined only here: a getter on every context would give each one its own hidden class, which would keep the call in memory until a full garbage
  // collection.
  return Object.defineProperty({ ...context, rest: rest.promise }, 'idempotencyKey', { get: () => entry.key })
}

/**
 * Returns the caller's answer to the question of a tool without a function, as the tool's `output` schema returns it.
 *
 * @throws {Interrupt} There is no answer yet; the payload is the call.
 * @throws {TypeError} The schema no longer accepts the answer, although it did when the run was resumed. The model reads this error.
 */
export async function answerOf(
  tool: Tool,
  { type, id, name, input }: ToolCall,
  answers: readonly Json[],
): Promise<unknown> {
  const answer = answers.at(-1)
  if (answer === undefined) throw interrupt({ type, id, name, input: asJson(input, 'the input') })
  if (!tool.output) return answer
  const checked = await tool.output['~standard'].validate(answer)
  if (!checked.issues) return checked.value
  throw new TypeError(
    `the answer for ${tool.name} does not match its output schema: ${inWords(checked.issues.map(described))}`,
  )
}
