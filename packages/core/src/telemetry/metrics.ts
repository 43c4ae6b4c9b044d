/** What a run, its model attempts and its tool calls are measured by: a record for each, when its span ends. */

import { type Attributes, createNoopMeter, type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import type { AssistantMessage, Usage } from '../message.ts'
import type { Model } from '../model.ts'
import { attemptAttributes, present, toolAttributes } from './attributes.ts'
import * as names from './semconv.ts'
import type { TelemetryOptions } from './spans.ts'
import type { Outcome } from './status.ts'
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
    execution(duration, { ...attributes, [names.ERROR_TYPE]: error, [names.OUTCOME]: outcome })
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

/** Records a value, if there is one, with those of the attributes that have one. */
type Instrument = (value: number | undefined, attributes: Attributes) => void

interface Instruments {
  readonly attempt: Instrument
  readonly first: Instrument
  readonly tokens: readonly (readonly [keyof Usage, Instrument])[]
  readonly execution: Instrument
  readonly lags: Instrument
  readonly headStarts: Instrument
  readonly calls: Instrument
  readonly run: Instrument
  readonly runAttempts: Instrument
  readonly runCalls: Instrument
}

const known = new WeakMap<MeterProvider, Instruments>()

/** Made once for each provider: what is made before the SDK has started would be a no-op for ever. */
function instrumentsOf(provider: MeterProvider): Instruments | undefined {
  const made = known.get(provider)
  if (made) return made
  const meter = provider.getMeter(names.SCOPE, names.VERSION)
  if (meter === createNoopMeter()) return undefined
  const instruments = makeInstruments(meter)
  known.set(provider, instruments)
  return instruments
}

function makeInstruments(meter: Meter): Instruments {
  const histogram = (name: string, explicitBucketBoundaries: number[], unit = 's') => {
    const made = meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } })
    return instrument((value, attributes) => made.record(value, attributes))
  }
  const counter = (name: string, unit: string) => {
    const made = meter.createCounter(name, { unit })
    return instrument((value, attributes) => made.add(value, attributes))
  }
  const tokens = (figure: keyof Usage, name: string) => [figure, counter(name, '{token}')] as const
  const duration = doubling(0.01, 14)
  const number = doubling(1, 8)
  const lag = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
  return {
    attempt: histogram(names.INFERENCE_DURATION, duration),
    first: histogram(names.INFERENCE_FIRST_CHUNK, duration),
    tokens: [
      tokens('inputTokens', names.INFERENCE_INPUT_TOKENS),
      tokens('outputTokens', names.INFERENCE_OUTPUT_TOKENS),
      tokens('cacheReadTokens', names.INFERENCE_CACHE_READ_TOKENS),
      tokens('cacheWriteTokens', names.INFERENCE_CACHE_WRITE_TOKENS),
      tokens('reasoningTokens', names.INFERENCE_REASONING_TOKENS),
    ],
    execution: histogram(names.EXECUTE_TOOL_DURATION, duration),
    lags: histogram(names.DISPATCH_LAGS, lag),
    headStarts: histogram(names.HEAD_STARTS, duration),
    calls: counter(names.TOOL_CALLS, '{tool_call}'),
    run: histogram(names.INVOKE_AGENT_DURATION, doubling(0.1, 13)),
    runAttempts: histogram(names.INVOKE_AGENT_INFERENCE_CALLS, number, '{inference_call}'),
    runCalls: histogram(names.INVOKE_AGENT_TOOL_CALLS, number, '{tool_call}'),
  }
}

function instrument(write: (value: number, attributes: Attributes) => void): Instrument {
  return (value, attributes) => {
    if (value !== undefined) untroubled(() => write(value, present(attributes)))
  }
}

/** The conventions' buckets. */
function doubling(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first * 2 ** index)
}
