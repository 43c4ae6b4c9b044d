/** Runs a tool without an agent, with the same input check, limits and span. */

import { executeTool } from './execution/execute-tool.ts'
import { drive } from './flow/flow.ts'
import { follow } from './flow/follow.ts'
import { unheard } from './flow/unheard.ts'
import { CallEntry } from './state/call-entry.ts'
import { CallTable } from './state/call-table.ts'
import { UserContext } from './state/user-context.ts'
import { activeContext, Telemetry } from './telemetry/around.ts'
import { behind, checkCopy } from './vocabulary/copies.ts'
import { ConfigError } from './vocabulary/errors.ts'
import { isRecord } from './vocabulary/json.ts'
import type { ToolCall } from './vocabulary/message.ts'
import { checkOptions, checkSignal, checkTime } from './vocabulary/option-checks.ts'
import type { TelemetryOptions } from './vocabulary/telemetry-options.ts'
import type { Tool } from './vocabulary/tool.ts'
import { checkExecute, checkLimits } from './vocabulary/tool-checks.ts'
import type { Progress, ToolStatus } from './vocabulary/tool-status.ts'

/** The options of `runTool`. */
export interface RunToolOptions {
  /**
   * Aborts the tool: `result` rejects with the signal's reason. If a tool passes its own `context.signal`, this counts as a call inside that tool's
   * call: if that call, or one that contains it, has a concurrency slot of the same tool, they share the slot.
   */
  readonly signal?: AbortSignal
  /** The time limit of `execute` instead of the tool's own, in milliseconds: a number above 0, or `Infinity`. */
  readonly timeout?: number
  /** How long to wait for an aborted function to end, in milliseconds. Default 1000. */
  readonly grace?: number
  /** The context, as for a run. If it does not match the tool's `context` schema, `result` rejects with `ContextError`. */
  readonly context?: unknown
  /** Where the span and the metrics go, and what the span contains. */
  readonly telemetry?: Pick<TelemetryOptions, 'tracerProvider' | 'meterProvider' | 'captureContent'>
}

/** A running tool. Awaiting it is awaiting `result`. You do not have to await anything. */
export interface ToolRun<Output> extends PromiseLike<Output> {
  /** The id of the call. */
  readonly callId: string
  /**
   * The tool's progress reports, from the latest one on. Ends when `result` has settled. A slow reader skips to the newest report. A reader that
   * stops does not stop the tool. There can be any number of readers.
   */
  readonly progress: AsyncIterable<Progress>
  /**
   * The output of the tool, or what it threw: the same object. Rejects with `ToolInputError`, `ContextError`, `ToolBusyError`, `ToolTimeoutError`,
   * `ToolCancelledError`, or the signal's reason; with {@link ConfigError} if an option is invalid.
   */
  readonly result: Promise<Output>
  /**
   * Cancels the tool. Returns `false` if it had already settled.
   *
   * @throws {NotCancelableError} The tool has `cancelable: false`.
   */
  cancel(): boolean
  /** Returns the state of the call. */
  status(): ToolStatus
}

/**
 * Starts a tool with this input, which its schema checks.
 *
 * @throws {ConfigError} The value is not a tool.
 */
export function runTool<Input, Output>(
  tool: Tool<Input, Output>,
  input: unknown,
  options: RunToolOptions = {},
): ToolRun<Output> {
  if (!isRecord(tool)) throw new ConfigError('tool', 'must be a tool')
  checkCopy(tool)
  const { grace = 1_000 } = options
  const entry = entryOf(tool, input, behind('call', options.signal))
  const latest = new Latest<Progress>()
  const report = (progress: Progress) => latest.set(entry.status.report(progress))
  const result = unheard(work<Output>(tool, entry, { ...options, grace }, report).finally(() => latest.end()))
  return {
    callId: entry.id,
    progress: latest,
    result,
    cancel: () => entry.cancel(grace),
    status: () => entry.status.read(),
    then: (fulfilled, rejected) => result.then(fulfilled, rejected),
  }
}

function entryOf(tool: Tool, input: unknown, caller: CallEntry | undefined): CallEntry {
  const call: ToolCall = { type: 'tool-call', id: crypto.randomUUID(), name: tool.name, input }
  return new CallEntry(new CallTable(), { key: call.id, call, tool, step: 0, parent: activeContext(), caller })
}

type Options = RunToolOptions & { readonly grace: number }

async function work<Output>(
  tool: Tool,
  entry: CallEntry,
  options: Options,
  report: (progress: Progress) => void,
): Promise<Output> {
  const { signal, grace, telemetry } = options
  const observed = new Telemetry(telemetry)
  const abort = () => entry.abort(signal?.reason, grace)
  let unfollow = () => {}
  let ok = false
  try {
    checkOptions('runTool', options, { signal: '', timeout: '', grace: '', context: '', telemetry: '' })
    checkExecute('tool.', tool.execute)
    checkLimits('tool.', tool)
    checkLimits('options.', options)
    checkTime('options.grace', grace)
    checkSignal('options.signal', signal)
    if (signal) unfollow = follow(signal, abort)
    if (signal?.aborted) abort()
    const userContext = new UserContext(options.context)
    const checking = userContext.check([tool])
    if (checking) await Promise.race([checking, entry.abandoned.promise])
    const by = { telemetry: observed, userContext, config: { grace }, timeout: options.timeout }
    const flow = executeTool(by, entry, entry.call, entry.parent)
    const given = await Promise.race([
      drive(flow, (progress) => {
        // Without this check the generator would continue after the abort.
        entry.signal.throwIfAborted()
        report(progress)
      }),
      entry.abandoned.promise,
    ])
    entry.signal.throwIfAborted()
    ok = true
    // An accepted output, which nothing has changed.
    return given.output as Output
  } catch (error) {
    throw entry.signal.aborted ? entry.signal.reason : error
  } finally {
    unfollow()
    entry.settle({})
    entry.status.end(entry.endState(ok))
    observed.ended(entry)
  }
}

export class Latest<Value> implements AsyncIterable<Value> {
  #latest: { readonly value: Value } | undefined
  #isOver = false
  readonly #readers: (() => void)[] = []

  set(value: Value): void {
    this.#latest = { value }
    this.#stir()
  }

  /** Ends the iteration of all readers. */
  end(): void {
    this.#isOver = true
    this.#stir()
  }

  /** Yields the current value, then each new one. A reader that is late gets only the newest. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Value, void, undefined> {
    let seen: { readonly value: Value } | undefined
    for (;;) {
      if (this.#latest !== undefined && this.#latest !== seen) {
        seen = this.#latest
        yield seen.value
      } else if (this.#isOver) {
        return
      } else {
        await new Promise<void>((resolve) => this.#readers.push(resolve))
      }
    }
  }

  #stir(): void {
    for (const wake of this.#readers.splice(0)) wake()
  }
}
