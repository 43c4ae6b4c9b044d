/** Invokes a tool as the SDK does, before the response has ended. */

import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createCustomSpan,
  type FunctionTool,
  getCurrentSpan,
  getCurrentTraceContext,
  invokeFunctionTool,
  type RunContext,
  withTraceContext,
} from '@openai/agents'
import type { StartedCall } from '../host/host-tool.ts'
import { declining, knownCall } from './known-context.ts'

type Details = NonNullable<Parameters<FunctionTool['invoke']>[2]>
type CurrentSpan = NonNullable<ReturnType<typeof getCurrentSpan>>
type SpanError = Parameters<CurrentSpan['setError']>[0]

export interface EarlyInvocation {
  readonly context: RunContext<unknown>
  readonly call: StartedCall
  /** Gets the details that the tool will get. */
  prepare(details: Details): void
}

/** What a tool has set on its span. */
interface SpanNotes {
  readonly errors: SpanError[]
  /** The members of its data that are new. */
  data(): object
}

/** By the promise of an invocation. */
const notes: WeakMap<object, SpanNotes> = new WeakMap()

/** Sets on the current span what an early invocation would have set on it. */
export function noteOnSpan(invocation: object): void {
  const noted = notes.get(invocation)
  const span = getCurrentSpan()
  if (!noted || !span) return
  Object.assign(span.spanData, noted.data())
  for (const error of noted.errors) span.setError(error)
}

/**
 * Invokes a tool and reports failures. Most tools return a text for the model instead of throwing; then only the
 * current span gets the error. So each call gets its own stand-in span, and the error contains the tool's name.
 */
export function invoked(tool: FunctionTool, { context, call, prepare }: EarlyInvocation): Promise<unknown> {
  const { id = '', text, signal, failed } = call
  const decline = declineOf(call)
  const toolCall = { type: 'function_call', callId: id, name: tool.name, arguments: text, status: 'completed' } as const
  const details: Details = { toolCall: knownCall(toolCall, decline), signal }
  // Only an agent that is a tool has a state; the SDK has the member for each tool.
  Reflect.set(details, 'resumeState', undefined)
  prepare(details)
  const noted = { errors: [] as SpanError[], data: newData() }
  hearErrors((error) => {
    noted.errors.push(error)
    if (error.message === FAILED && error.data?.tool_name === tool.name) failed(new Error(error.message))
  })
  const output = declining(decline, () => timed(tool, { runContext: context, input: text, details }, call))
  notes.set(output, noted)
  return output
}

/** Compares the data of the current span, which must be a stand-in, with that of now. */
function newData(): () => object {
  const data: object = getCurrentSpan()?.spanData ?? {}
  const before = new Map(Object.entries(data))
  return () => Object.fromEntries(Object.entries(data).filter(([key, value]) => before.get(key) !== value))
}

/** Once the SDK has taken the call, its response has ended, and everything is known. */
function declineOf(call: StartedCall): (member: string) => void {
  let isTaken = false
  void call.used.then((isUsed) => {
    isTaken = isUsed
  })
  return (member) => {
    if (!isTaken) call.decline(member)
  }
}

type Invocation = Omit<Parameters<typeof invokeFunctionTool>[0], 'tool'>

/**
 * A timeout is not reported by the SDK: it just stops waiting. The user hears of it when the SDK asks for the call, and
 * never if it does not.
 */
async function timed(tool: FunctionTool, asked: Invocation, call: StartedCall): Promise<unknown> {
  const { timeoutMs, timeoutErrorFunction } = tool
  if (timeoutMs === undefined) return await invokeFunctionTool({ ...asked, tool })
  let isOver = false
  const expired = () => call.failed(new Error(`${tool.name} exceeded its timeout`))
  const invoke: FunctionTool['invoke'] = async (...given) => {
    const output: unknown = await tool.invoke(...given)
    isOver = true
    return output
  }
  const told: FunctionTool['timeoutErrorFunction'] =
    timeoutErrorFunction &&
    (async (...given) => {
      expired()
      await takenBy(call)
      return await timeoutErrorFunction(...given)
    })
  const watched: FunctionTool = Object.create(tool, {
    invoke: { value: invoke },
    timeoutErrorFunction: { value: told },
  })
  const output: unknown = await invokeFunctionTool({ ...asked, tool: watched })
  if (!isOver) expired()
  return output
}

/** Resolves when the SDK takes the call, and rejects when it is discarded. */
async function takenBy({ used, signal }: StartedCall): Promise<void> {
  if (!(await used)) throw signal.reason
}

/** The span error that the SDK sets for a tool whose error becomes a text. */
const FAILED = 'Error running tool (non-fatal)'

/** Calls `heard` with each error that the current span gets. It must be a stand-in, which only one call has. */
function hearErrors(heard: (error: SpanError) => void): void {
  const span = getCurrentTraceContext()?.span
  if (!span) return
  const { setError } = span
  const heardFirst: typeof setError = (error) => {
    heard(error)
    setError.call(span, error)
  }
  Object.defineProperty(span, 'setError', { value: heardFirst })
}

/**
 * Captures the async context in which tools of this turn are called, so that SDK spans opened by a tool nest under the
 * agent's.
 */
export function surroundings(): <Result>(work: () => Result) => Result {
  const inContext = AsyncLocalStorage.snapshot()
  const current = getCurrentTraceContext()
  if (!current) return inContext
  const { trace } = current
  const span = current.span ?? createCustomSpan({ data: { name: 'turn' } }, trace)
  return (work) => inContext(() => withTraceContext({ trace, span: standIn(span) }, work))
}

/**
 * What a tool sets on its span applies to its call, not to the agent: a clone has the same id and is never exported.
 */
function standIn(span: CurrentSpan): CurrentSpan {
  return Object.defineProperty(span.clone(), 'spanData', { value: { ...span.spanData } })
}
