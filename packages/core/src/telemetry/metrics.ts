/** What a run, its model attempts and its tool calls are measured by: a record for each, when its span ends. */

import { metrics } from '@opentelemetry/api'
import type { AssistantMessage } from '../message.ts'
import type { Model } from '../model.ts'
import { attemptAttributes, toolAttributes } from './attributes.ts'
import { type Instruments, instrumentsOf } from './instruments.ts'
import type { TelemetryOptions } from './options.ts'
import type { Outcome } from './outcome.ts'
import { OTHER } from './semconv.ts'
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
    const attributes = { ...attemptAttributes(model), 'gen_ai.response.model': message?.response?.model }
    this.#attempts++
    this.#models.add(model.id)
    attempt(duration, { ...attributes, 'error.type': error })
    first(firstChunk, attributes)
    for (const [figure, count] of tokens)
      count(message?.usage?.[figure] ?? 0, { ...attributes, 'gen_ai.token.modality': 'unknown' })
  }

  execution({ tool, duration, outcome, error, evidence, lag, headStart }: ExecutionRecord): void {
    const { execution, lags, headStarts } = this.#instruments
    const attributes = toolAttributes(tool, this.#agent)
    const name = { 'gen_ai.tool.name': tool ?? OTHER }
    execution(duration, {
      ...attributes,
      'gen_ai.tool.type': 'function',
      'error.type': error,
      'meanwhile.outcome': outcome,
    })
    lags(lag, { ...name, 'meanwhile.dispatch.evidence': evidence })
    headStarts(headStart, { ...name, 'gen_ai.agent.name': this.#agent })
  }

  /** A call's fate is known. It has no mode outside of a run. */
  call(tool: string | undefined, mode: 'early' | 'after_model' | undefined, outcome: Outcome): void {
    const name = tool ?? OTHER
    this.#instruments.calls(1, {
      'gen_ai.tool.name': name,
      'meanwhile.dispatch.mode': mode,
      'meanwhile.outcome': outcome,
    })
  }

  /** `calls`: those of the responses that stood. */
  run(duration: number, calls: number, error: string | undefined): void {
    const { run, runAttempts, runCalls } = this.#instruments
    const agent = { 'gen_ai.agent.name': this.#agent }
    const [model, another] = this.#models
    const only = another === undefined ? model : undefined
    run(duration, { ...agent, 'gen_ai.request.model': only, 'error.type': error })
    runAttempts(this.#attempts, agent)
    runCalls(calls, agent)
  }
}
