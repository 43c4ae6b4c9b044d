/** One run of an agent, from its input to its result: what its caller holds. */

import { context, diag } from '@opentelemetry/api'
import { type AgentConfig, checkRunOptions } from './config.ts'
import { AgentError, HistoryError } from './errors.ts'
import { EventBuffer } from './event-buffer.ts'
import type { AgentEvent, AgentResult } from './events.ts'
import { inputMessages, openCalls } from './history.ts'
import { runAgent } from './loop.ts'
import type { Message } from './message.ts'
import { RunState } from './run.ts'
import { RunWait } from './run-wait.ts'
import {
  CALLS_COMMITTED,
  CALLS_DISCARDED,
  CALLS_EARLY,
  FINISH_REASONS,
  OUTCOME,
  STEP_COUNT,
} from './telemetry/semconv.ts'
import { type OpenSpan, outcomeOf, setError, setUsage, startRunSpan, tracerOf } from './telemetry/spans.ts'

export interface RunOptions {
  /** Stops the run at once: `result` rejects with {@link RunAbortedError} (K1). */
  readonly signal?: AbortSignal
  /** For spans: the conversation this run belongs to. */
  readonly conversationId?: string
  /**
   * How many events may wait for a reader before deltas are joined and `custom` events dropped. Default 1024;
   * a whole number from 0 on, or `Infinity` (B12).
   */
  readonly eventBuffer?: number
}

/**
 * A run at work. It goes on by itself, read or not (B11). Its events can be read once (B13); a reader that leaves before the end
 * aborts it (B10).
 */
export interface AgentRun extends AsyncIterable<AgentEvent> {
  readonly id: string
  /** The result, or the error that ended the run. Need not be awaited. */
  readonly result: Promise<AgentResult>
}

export type RunInput = string | readonly Message[]

/** Starts a run. With `events: 'dropped'` nothing is kept for a reader. */
export function startRun(
  config: AgentConfig,
  input: RunInput,
  options: RunOptions,
  events: 'kept' | 'dropped',
): AgentRun {
  const buffer = events === 'kept' ? new EventBuffer(options.eventBuffer ?? 1_024) : undefined
  const tracer = tracerOf(config.telemetry)
  const run = new RunState(config, {
    id: crypto.randomUUID(),
    tracer,
    conversationId: options.conversationId,
    show: (event) => buffer?.push(event),
  })
  const span = startRunSpan(tracer, context.active(), {
    runId: run.id,
    agent: config.name,
    model: config.setup.model,
    conversationId: options.conversationId,
    middleware: config.middleware.map(({ name }) => name),
    attributes: config.telemetry?.attributes,
  })
  run.context = span.context
  const result = drive(run, input, options).then(
    (result) => {
      finish(run, span, undefined, result)
      const dropped = buffer?.dropped ?? 0
      buffer?.end({ event: { runId: run.id, type: 'run-end', result, ...(dropped > 0 && { dropped }) } })
      return result
    },
    (error: unknown) => {
      finish(run, span, error)
      buffer?.end({ error })
      throw error
    },
  )
  result.catch(() => undefined)

  let read = false
  return {
    id: run.id,
    result,
    [Symbol.asyncIterator]() {
      if (read || !buffer) throw new TypeError('the events of a run can be read once')
      read = true
      const events = buffer.read()
      return {
        next: () => events.next(),
        async return() {
          buffer.leave()
          run.abort(new Error('the reader of its events left'))
          await result.catch(() => undefined)
          return events.return(undefined)
        },
      }
    },
  }
}

async function drive(run: RunState, input: RunInput, options: RunOptions): Promise<AgentResult> {
  const { signal } = options
  const abort = () => run.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const waiting = new RunWait(run)
  try {
    checkRunOptions(options)
    run.remember({ messages: inputMessages(input) })
    if (signal?.aborted) abort()
    run.signal.throwIfAborted()
    run.show(run.event({ type: 'run-start' }))
    const flow = runAgent(run)
    for (;;) {
      const step = await waiting.step(flow)
      if (!step.done) {
        run.show(step.value)
        continue
      }
      // What was called on the side and nobody waits for.
      await stop(run, new TypeError('the run is over'))
      run.signal.throwIfAborted()
      end(run)
      return resultOf(run, step.value)
    }
  } catch (thrown) {
    const error = run.signal.aborted ? run.signal.reason : thrown
    await stop(run, error)
    if (error instanceof AgentError) addHistory(run, error)
    end(run)
    throw error
  } finally {
    waiting.over()
    signal?.removeEventListener('abort', abort)
  }
}

/** What the caller gets: the outcome of the outermost wrap, and what is known when nothing is at work any more. */
function resultOf(run: RunState, result: AgentResult): AgentResult {
  const { abandoned } = run.calls
  return Object.freeze({ ...result, warnings: [...run.warnings], ...(abandoned.length > 0 && { abandoned }) })
}

/** Nothing of the run is at work any more. */
async function stop(run: RunState, reason: unknown): Promise<void> {
  run.calls.abort(reason)
  await run.calls.idle()
}

/** What a caller needs to go on after an error (A24): every call answered, unless it is the history itself that is wrong. */
function addHistory(run: RunState, error: AgentError): void {
  const open = error instanceof HistoryError ? [] : openCalls(run.messages)
  showRest(run)
  const messages = [...run.messages, ...run.calls.answers(open)]
  const { abandoned } = run.calls
  error.endRun({ messages, usage: run.usage, ...(abandoned.length > 0 && { abandoned }) })
}

/** What was said last is said, and nothing more will be. */
function end(run: RunState): void {
  showRest(run)
  run.over = true
  run.scope = {}
}

function showRest(run: RunState): void {
  for (const event of run.funnel.drain()) run.show(event)
}

/** Ends the run's span. */
function finish(run: RunState, { span }: OpenSpan, error: unknown, result?: AgentResult): void {
  untroubled(() => {
    span.setAttributes({
      ...run.annotationsOf(),
      [OUTCOME]: outcomeOf(error),
      [STEP_COUNT]: run.step,
      [CALLS_EARLY]: run.calls.counts.early,
      [CALLS_COMMITTED]: run.calls.counts.committed,
      [CALLS_DISCARDED]: run.calls.counts.discarded,
      ...(result && { [FINISH_REASONS]: [result.finishReason] }),
    })
    if (run.config.telemetry?.usageOnRun !== false) setUsage(span, run.usage)
    if (error !== undefined) setError(span, error)
  })
  untroubled(() => span.end(performance.now()))
}

/** A span that throws is no trouble of the run's: OpenTelemetry's own log is told. */
function untroubled(record: () => void): void {
  try {
    record()
  } catch (error) {
    diag.error('meanwhile: the span of a run threw', error)
  }
}
