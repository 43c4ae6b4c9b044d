/** A tool outside of any run, by the same path: input check, limits, span. */

import { executeTool } from './execution/execute-tool.ts'
import type { Host } from './execution/tool-host.ts'
import { drive } from './flow/flow.ts'
import { follow } from './flow/follow.ts'
import { unheard } from './flow/unheard.ts'
import { givenOf } from './needs/rest.ts'
import { CallEntry } from './state/call-entry.ts'
import { endState } from './state/call-status.ts'
import { CallTable } from './state/call-table.ts'
import { signalOwner } from './state/signal-owner.ts'
import { UserContext } from './state/user-context.ts'
import { activeContext, Telemetry } from './telemetry/around.ts'
import { ConfigError } from './vocabulary/errors.ts'
import { isRecord } from './vocabulary/json.ts'
import type { ToolCall } from './vocabulary/message.ts'
import { checkOptions, checkSignal, checkTime } from './vocabulary/option-checks.ts'
import type { TelemetryOptions } from './vocabulary/telemetry-options.ts'
import type { Tool } from './vocabulary/tool.ts'
import { checkExecute, checkLimits } from './vocabulary/tool-checks.ts'
import { UnknownToolError } from './vocabulary/tool-errors.ts'
import type { Progress, ToolStatus } from './vocabulary/tool-status.ts'

export interface RunToolOptions {
  /**
   * Aborts it: `result` rejects with the signal's reason. If a tool passes its own `context.signal`, this tool works for that tool's
   * call: if that call, or one that it works for, has a slot of the same tool, it shares that slot.
   */
  readonly signal?: AbortSignal
  /** In place of the tool's own: milliseconds from the start of `execute`, a number above 0, or `Infinity`. */
  readonly timeout?: number
  /** Milliseconds that a function which was aborted is waited for. Default 1000. */
  readonly grace?: number
  /** As of a run: if the tool needs a part of it that is not there, `result` rejects with `ContextError`. */
  readonly context?: unknown
  readonly telemetry?: Pick<TelemetryOptions, 'tracerProvider' | 'meterProvider' | 'captureContent'>
}

/** A tool at work. Awaiting it gives what `result` gives. Nobody need await anything of it. */
export interface ToolRun<Output> extends PromiseLike<Output> {
  readonly callId: string
  /**
   * What the tool reports from now on, the last report first; ends when `result` has settled. A reader that is slow gets
   * the newest alone; one that leaves does not stop the tool. Can be read by many.
   */
  readonly progress: AsyncIterable<Progress>
  /**
   * What the tool gave, or threw, the same object. Rejects with `ToolInputError`, `ContextError`, `ToolBusyError`,
   * `ToolTimeoutError`, `ToolCancelledError`, or the signal's reason; with {@link ConfigError} if the options
   * cannot work.
   */
  readonly result: Promise<Output>
  /** Gives `true`, or `false` if it had settled. Throws `NotCancelableError` if the tool forbids it. */
  cancel(): boolean
  status(): ToolStatus
}

/**
 * Starts a tool with this input, as its schema takes it.
 *
 * @throws {ConfigError} It is no tool.
 */
export function runTool<Input, Output>(
  tool: Tool<Input, Output>,
  input: unknown,
  options: RunToolOptions = {},
): ToolRun<Output> {
  if (!isRecord(tool)) throw new ConfigError('tool', 'is missing, or is no tool')
  const { grace = 1_000 } = options
  const entry = entryOf(tool, input, signalOwner(options.signal))
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
  return new CallEntry(new CallTable(), {
    key: call.id,
    call,
    tool,
    step: 0,
    parent: activeContext(),
    caller,
  })
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
    checkExecute('tool', tool.execute)
    checkLimits('tool', tool)
    checkLimits('options', options)
    checkTime('options.grace', grace)
    checkSignal('options.signal', signal)
    if (signal) unfollow = follow(signal, abort)
    if (signal?.aborted) abort()
    const userContext = new UserContext(options.context)
    const checking = userContext.check([tool])
    if (checking) await Promise.race([checking, entry.abandoned.promise])
    const flow = executeTool(hostOf<Output>(tool, options, observed, userContext), entry, entry.call, entry.parent)
    const given = await Promise.race([
      drive(flow, (progress) => {
        // It would go on all the same (I14).
        entry.signal.throwIfAborted()
        report(progress)
      }),
      entry.abandoned.promise,
    ])
    entry.signal.throwIfAborted()
    ok = true
    return given
  } catch (error) {
    throw entry.signal.aborted ? entry.signal.reason : error
  } finally {
    unfollow()
    entry.settle({})
    entry.status.end(endState(entry, ok))
    observed.ended(entry)
  }
}

/** What a tool gives alone is its output, as it is. */
function hostOf<Output>(
  tool: Tool,
  { timeout, grace }: Options,
  telemetry: Telemetry,
  userContext: UserContext,
): Host<Output> {
  return {
    telemetry,
    userContext,
    messages: Object.freeze([]),
    grace,
    timeout: timeout ?? tool.timeout,
    givenOf,
    resultOf: (_call, _tool, output) => output as Output,
    unknown: (call) => Promise.reject(new UnknownToolError(call.name, [])),
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

  /** Nothing more comes. */
  end(): void {
    this.#isOver = true
    this.#stir()
  }

  /** The value there is, then each that comes; of several that come before it is asked, the last. */
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
