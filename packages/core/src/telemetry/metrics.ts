/** What a run, its model attempts and its tool calls are measured by: a record for each, when its span ends. */

import { metrics } from '@opentelemetry/api'
import type { AssistantMessage } from '../message.ts'
import type { Model } from '../model.ts'
import { attemptAttributes, toolAttributes } from './attributes.ts'
import { type Instruments, instrumentsOf } from './instruments.ts'
import type { TelemetryOptions } from './options.ts'
import type { Outcome } from './outcome.ts'
import * as names from './semconv.ts'
import { untroubled } from './untroubled.ts'

/** Times in seconds. */
export interface AttemptRecord {
  readonly model: Model
  readonly duration: number
  /** Until the first event; absent if none came. */
  readonly firstChunk: number | undefined
  /** What came of it, or of its beginning. */
  readonly message: AssistantMessage | undefined
  readonly error: string | undefined
}

/** One execution of a call. Times in seconds. */
export interface ExecutionRecord {
  readonly tool: string | undefined
  readonly duration: number
  readonly outcome: Outcome
  readonly error: string | undefined
  readonly evidence: string | undefined
  /** Of a call's first execution. */
  readonly lag: number | undefined
  /** Of a call's first execution, if that was early and was not discarded. */
  readonly headStart: number | undefined
}

/** Of a run, or of a tool alone. `undefined` without an SDK, asked when it begins: one that comes later serves the next. */
export function metricsOf(options: Pick<TelemetryOptions, 'meterProvider'> = {}, agent?: string): Metrics | undefined {
  let instruments: Instruments | undefined
  untroubled(() => {
    instruments = instrumentsOf(options.meterProvider ?? metrics.getMeterProvider())
  })
  return instruments && new Metrics(instruments, agent)
}

export class Metrics {
  readonly #instruments: Instruments
  readonly #agent: string | undefined
  readonly #models: Set<string> = new Set()
  #attempts = 0

  constructor(instruments: Instruments, agent: string | undefined) {
    this.#instruments = instruments
    this.#agent = agent
  }

  attempt({ model, duration, firstChunk, message, error }: AttemptRecord): void {
    const { attempt, first, tokens } = this.#instruments
    const attributes = { ...attemptAttributes(model), [names.RESPONSE_MODEL]: message?.response?.model }
    this.#attempts++
    this.#models.add(model.id)
    attempt(duration, { ...attributes, [names.ERROR_TYPE]: error })
    first(firstChunk, attributes)
    for (const [figure, count] of tokens)
      count(message?.usage?.[figure] ?? 0, { ...attributes, [names.TOKEN_MODALITY]: 'unknown' })
  }

  execution({ tool, duration, outcome, error, evidence, lag, headStart }: ExecutionRecord): void {
    const { execution, lags, headStarts } = this.#instruments
    const attributes = toolAttributes(tool, this.#agent)
    const name = { [names.TOOL_NAME]: attributes[names.TOOL_NAME] }
    execution(duration, {
      ...attributes,
      [names.TOOL_TYPE]: 'function',
      [names.ERROR_TYPE]: error,
      [names.OUTCOME]: outcome,
    })
    lags(lag, { ...name, [names.DISPATCH_EVIDENCE]: evidence })
    headStarts(headStart, { ...name, [names.AGENT_NAME]: this.#agent })
  }

  /** A call's fate is known. It has no mode outside of a run. */
  call(tool: string | undefined, mode: 'early' | 'after_model' | undefined, outcome: Outcome): void {
    const name = tool ?? names.OTHER
    this.#instruments.calls(1, { [names.TOOL_NAME]: name, [names.DISPATCH_MODE]: mode, [names.OUTCOME]: outcome })
  }

  /** `calls`: those of the responses that stood. */
  run(duration: number, calls: number, error: string | undefined): void {
    const { run, runAttempts, runCalls } = this.#instruments
    const agent = { [names.AGENT_NAME]: this.#agent }
    const [model, another] = this.#models
    const only = another === undefined ? model : undefined
    run(duration, { ...agent, [names.REQUEST_MODEL]: only, [names.ERROR_TYPE]: error })
    runAttempts(this.#attempts, agent)
    runCalls(calls, agent)
  }
}
